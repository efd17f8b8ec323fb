import assert from 'node:assert/strict';
import os from 'node:os';
import type { RvmError } from '../../../lib/error';
import { connectionTitle, hostText, readConnection } from '../../../lib/inbox/postgres/connection-settings';

const CHOICES = { schema: 'rvm', tls: 'verify', instanceName: '' } as const;

type Read = [hosts: string[], user: string, password: string | undefined, database: string];

describe('the connection of an inbox in PostgreSQL', () => {
  const WRITTEN: [title: string, texts: string[], read: Read][] = [
    [
      'names user, password, host, port and database',
      ['postgres://ada:secret@db:5433/alarms'],
      [['db:5433'], 'ada', 'secret', 'alarms'],
    ],
    [
      'may name several hosts, in the order in which they are tried',
      ['postgresql://ada@one:5432,two,[fe80::1]:5433/alarms'],
      [['one:5432', 'two:5432', '[fe80::1]:5433'], 'ada', undefined, 'alarms'],
    ],
    [
      'has what is written with percent signs in plain',
      ['postgres://a%40b:p%2F%3F%23%25%C3%BC:x@db/d%20b'],
      [['db:5432'], 'a@b', 'p/?#%ü:x', 'd b'],
    ],
    [
      'has no password where none is written',
      ['postgres://ada@db/alarms', 'postgres://ada:@db/alarms'],
      [['db:5432'], 'ada', undefined, 'alarms'],
    ],
    [
      'has the database of the name of the user where none is written',
      ['postgres://ada@db', 'postgres://ada@db/'],
      [['db:5432'], 'ada', undefined, 'ada'],
    ],
  ];
  for (const [title, texts, read] of WRITTEN)
    it(title, () => {
      for (const text of texts) {
        const { hosts, user, password, database } = readConnection(text, CHOICES);
        assert.deepEqual([hosts.map(hostText), user, password, database], read);
      }
    });

  it('may name the folder of a Unix socket', () => {
    const { hosts } = readConnection('postgres://ada@%2Fvar%2Frun%2Fpostgresql/alarms', CHOICES);
    assert.deepEqual(hosts, [{ name: '/var/run/postgresql', port: 5432 }]);
  });

  it('calls the instance by the name of its machine where it has none', () => {
    assert.equal(readConnection('postgres://ada@db', CHOICES).instanceName, os.hostname());
    const named = readConnection('postgres://ada@db', { ...CHOICES, instanceName: ' north ' });
    assert.equal(named.instanceName, 'north');
  });

  it('has a title without user and password', () => {
    const settings = readConnection('postgres://ada:secret@one,two:5433/alarms', CHOICES);
    assert.equal(connectionTitle(settings), 'one:5432,two:5433/alarms, schema rvm');
  });

  const REFUSED: Record<string, [text: string, reason: RegExp]> = {
    'is empty': ['', /it is none/],
    'is of another database': ['mysql://ada:hunter2@db/alarms', /it is none/],
    'has no user': ['postgres://db/alarms', /names no user/],
    'has no host': ['postgres://ada:hunter2@/alarms', /names no host/],
    'has a host among several that is empty': ['postgres://ada:hunter2@one,,two/alarms', /names no host/],
    'has a port that is none': ['postgres://ada:hunter2@db:0x50/alarms', /no number as its port/],
    'has a port that is too high': ['postgres://ada:hunter2@db:65536/alarms', /between 1 and 65535/],
    'has a plain @ in its password': ['postgres://ada:hunt@er2@db/alarms', /@ .* written as %40/],
    'has a plain / in its password': ['postgres://ada:hunt/er2@db/alarms', /such as \/ \? # in its password/],
    'has a plain ? in its password': [
      'postgres://ada:hunt?er2@db/alarms',
      /write one in the password as %3F/,
    ],
    'has a plain # in its password': ['postgres://ada:hunt#er2@db/alarms', /it is none/],
    'has a plain % in its password': ['postgres://ada:hunt%er2@db/alarms', /percent sign .* %25/],
    'has a NUL character': ['postgres://ada:hunter2%00@db/alarms', /percent sign/],
    'lays down TLS': ['postgres://ada:hunter2@db/alarms?sslmode=require', /TLS is chosen in the node/],
    'has a parameter that is not used': [
      'postgres://ada:hunter2@db/alarms?target_session_attrs=read-write',
      /remove the parameter target_session_attrs/,
    ],
    'has a parameter that nobody knows': [
      'postgres://ada:hunter2@db/alarms?hunter2=1',
      /behind the question mark/,
    ],
  };
  for (const [name, [text, reason]] of Object.entries(REFUSED))
    it(`is refused where it ${name}, without showing anything of the password`, () => {
      assert.throws(
        () => readConnection(text, CHOICES),
        ({ code, message }: RvmError) =>
          code === 'CONFIG_MISSING' && reason.test(message) && !/hunt|er2/.test(message),
      );
    });

  for (const schema of ['', 'pg_rvm', 'information_schema', 'x'.repeat(64), 'a\0b'])
    it(`is refused with a schema such as ${JSON.stringify(schema.slice(0, 20))}`, () => {
      const read = (): unknown => readConnection('postgres://ada@db', { ...CHOICES, schema });
      assert.throws(read, { code: 'CONFIG_MISSING', message: /schema of the inbox cannot be used/ });
    });
});
