import assert from 'node:assert/strict';
import os from 'node:os';
import { RvmError } from '../../../lib/error';
import { connectionTitle, hostText, readConnection } from '../../../lib/inbox/postgres/connection-settings';

const CHOICES = { schema: 'rvm', tls: 'verify', instanceName: '' } as const;

describe('the connection of an inbox in PostgreSQL', () => {
  it('names user, password, host, port and database', () => {
    const { hosts, user, password, database } = readConnection(
      'postgres://ada:secret@db:5433/alarms',
      CHOICES,
    );
    assert.deepEqual(hosts, [{ name: 'db', port: 5433 }]);
    assert.deepEqual([user, password, database], ['ada', 'secret', 'alarms']);
  });

  it('may name several hosts, in the order in which they are tried', () => {
    const { hosts } = readConnection('postgresql://ada@one:5432,two,[fe80::1]:5433/alarms', CHOICES);
    assert.deepEqual(hosts.map(hostText), ['one:5432', 'two:5432', '[fe80::1]:5433']);
  });

  it('may name the folder of a Unix socket', () => {
    const { hosts } = readConnection('postgres://ada@%2Fvar%2Frun%2Fpostgresql/alarms', CHOICES);
    assert.deepEqual(hosts, [{ name: '/var/run/postgresql', port: 5432 }]);
  });

  it('has what is written with percent signs in plain', () => {
    const { user, password, database } = readConnection(
      'postgres://a%40b:p%2F%3F%23%25%C3%BC:x@db/d%20b',
      CHOICES,
    );
    assert.deepEqual([user, password, database], ['a@b', 'p/?#%ü:x', 'd b']);
  });

  it('has no password where none is written', () => {
    assert.equal(readConnection('postgres://ada@db/alarms', CHOICES).password, undefined);
    assert.equal(readConnection('postgres://ada:@db/alarms', CHOICES).password, undefined);
  });

  it('has the database of the name of the user where none is written', () => {
    assert.equal(readConnection('postgres://ada@db', CHOICES).database, 'ada');
    assert.equal(readConnection('postgres://ada@db/', CHOICES).database, 'ada');
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
        (error: unknown) => {
          assert.ok(error instanceof RvmError);
          assert.equal(error.code, 'CONFIG_MISSING');
          assert.match(error.message, reason);
          assert.doesNotMatch(error.message, /hunt|er2/);
          return true;
        },
      );
    });

  for (const schema of ['', 'pg_rvm', 'information_schema', 'x'.repeat(64), 'a\0b'])
    it(`is refused with a schema such as ${JSON.stringify(schema.slice(0, 20))}`, () => {
      const read = (): unknown => readConnection('postgres://ada@db', { ...CHOICES, schema });
      assert.throws(read, { code: 'CONFIG_MISSING', message: /schema of the inbox cannot be used/ });
    });
});
