import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect, type Connected, testConnection } from '../../../lib/inbox/postgres/connect';
import { readConnection, type ConnectionChoices } from '../../../lib/inbox/postgres/connection-settings';
import { Authority } from '../../support/network/certificates';
import { MuteServer } from '../../support/network/servers';
import { freePort } from '../../support/node-red/node-red';
import { OldServer, ServerFiles } from '../../support/postgres/odd-servers';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { settingsOf } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const PASSWORD = `hunter-${randomUUID()}`;

describe('a connection to PostgreSQL', () => {
  let server: PostgresServer;
  let files: ServerFiles;
  let authority: Authority;

  before(async function () {
    needs(this, 'postgres', 'openssl');
    files = new ServerFiles();
    authority = new Authority();
    const { key, cert } = authority.issueForServer('DNS:localhost');
    const rules = [
      'host all admin 127.0.0.1/32 trust',
      'host all ada 127.0.0.1/32 scram-sha-256',
      'host all plain 127.0.0.1/32 password',
      'hostssl all secure 127.0.0.1/32 trust',
      'host all readonly 127.0.0.1/32 trust',
      'host all least 127.0.0.1/32 trust',
      'host all foreign 127.0.0.1/32 gss',
    ];
    server = await PostgresServer.start({
      settings: {
        hba_file: files.save('pg_hba.conf', `${rules.join('\n')}\n`),
        ssl: 'on',
        ssl_key_file: files.save('server.key', key),
        ssl_cert_file: files.save('server.pem', cert),
        superuser_reserved_connections: '0',
        max_connections: '10',
      },
    });
    for (const role of ['ada', 'plain', 'secure', 'least', 'readonly'])
      await server.sql(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    await server.sql('ALTER ROLE readonly SET default_transaction_read_only = on');
    await server.sql(`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`);
  });
  after(async () => {
    await server?.remove();
    files?.remove();
    authority?.remove();
  });

  function url(
    login: string,
    { host = '127.0.0.1', port = server.port, database = 'postgres' } = {},
  ): string {
    return `postgres://${login}@${host}:${port}/${database}`;
  }

  async function connected(text: string, changes: Partial<ConnectionChoices> = {}): Promise<Connected> {
    const choices = { schema: 'rvm', tls: 'off', instanceName: 'north', ...changes } as const;
    return connect(readConnection(text, choices), 'work');
  }

  /** Fails in one sentence that says what to do, and holds no password. */
  async function assertRefused(
    text: string,
    reason: RegExp,
    changes: Partial<ConnectionChoices> = {},
  ): Promise<void> {
    await assert.rejects(connected(text, changes), (error: unknown) => {
      assert.ok(error instanceof Error);
      assert.match(error.message, reason);
      assert.doesNotMatch(error.message, /hunter/);
      assert.match(error.message, /^[A-Z][^\n]*\.$/);
      return true;
    });
  }

  it('logs in with the password, in the ways that servers ask for it', async () => {
    for (const user of ['ada', 'plain']) {
      const { session, facts } = await connected(url(`${user}:${PASSWORD}`));
      assert.match(facts.version, /^\d+\.\d+$/);
      await session.close();
    }
  });

  it('is shown with its purpose and the name of the instance', async () => {
    const { session } = await connected(url('admin'), { instanceName: 'Nörd' });
    const { rows } = await session.client.query(`SELECT current_setting('application_name') AS name`);
    await session.close();
    assert.deepEqual(rows, [{ name: 'rvm work N?rd' }]);
  });

  const REFUSED: [why: string, reason: RegExp, login: string, place?: Parameters<typeof url>[1]][] = [
    ['with a wrong password', /refuses the login: check user and password/, 'ada:hunter-wrong'],
    ['for a user who is not let in', /does not let this user in.*check user and database/, 'nobody:hunter'],
    ['where no password will do', /login other than by password: let pg_hba\.conf/, 'foreign:hunter'],
    ['where no such database is', /no database of this name: create it/, 'admin', { database: 'absent' }],
    ['where it cannot hold all texts', /LATIN1.*ENCODING 'UTF8'/, 'admin', { database: 'latin' }],
    ['for a host that is not known', /name of its host/, 'ada:hunter', { host: 'absent.invalid' }],
    ['where the server can only be read', /set read-only/, 'readonly'],
  ];
  for (const [why, reason, login, place] of REFUSED)
    it(`is refused ${why}`, () => assertRefused(url(login, place), reason));

  for (const [host, where] of [
    ['127.0.0.1', 'where nothing listens'],
    ['localhost', 'where nothing listens at any address of the host'],
  ] as const)
    it(`is refused ${where}`, async () =>
      assertRefused(url(`ada:${PASSWORD}`, { host, port: await freePort() }), /nothing answers there/));

  it('is refused without a password where one is asked for', async () => {
    process.env['PGPASSWORD'] = PASSWORD;
    try {
      await assertRefused(url('ada'), /asks for a password/);
    } finally {
      delete process.env['PGPASSWORD'];
    }
  });

  it('is refused by a standby alone, and says what to do where the primary is gone', async function () {
    needs(this, 'pg_basebackup');
    const primary = await PostgresServer.start();
    const standby = await PostgresServer.start({ standbyOf: { primary, name: 'standby' } });
    const cure = /it is a standby.*name the primary in the connection.*where it has died for good, promote/;
    await assertRefused(url('admin', { port: standby.port }), cure);
    await standby.remove();
    await primary.remove();
  });

  it('is refused where the server says nothing', async () => {
    const mute = await MuteServer.start();
    await assertRefused(
      url(`ada:${PASSWORD}`, { port: Number(new URL(mute.url).port) }),
      /does not answer in time/,
    );
    await mute.close();
  });

  it('is refused where no place is left', async () => {
    const taken: Connected[] = [];
    const takeAll = async (): Promise<never> => {
      for (;;) taken.push(await connected(url('admin')));
    };
    await assert.rejects(takeAll(), /no connection left: raise max_connections/);
    await Promise.all(taken.map(({ session }) => session.close()));
    assert.ok(taken.length > 5);
  });

  describe('with several hosts', () => {
    const hosts = (...ports: number[]): string =>
      `postgres://admin@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres`;

    it('goes to the first that can be written', async () => {
      const { session, host } = await connected(hosts(await freePort(), server.port));
      assert.equal(host.port, server.port);
      await session.close();
    });

    it('does not wait for one that says nothing', async () => {
      const mute = await MuteServer.start();
      const { session, host } = await connected(hosts(Number(new URL(mute.url).port), server.port));
      assert.equal(host.port, server.port);
      assert.equal(mute.connections, 1, 'the other is still asked');
      await session.close();
      await mute.close();
    });

    it('says of each why it is not that, and once what keeps several from it', async () => {
      const old = await OldServer.start({ version: '140012', name: '14.12' });
      const none = 'none of its databases can be written';
      const each = `${none}: \\S+: nothing answers there.*; \\S+: it is PostgreSQL 14\\.12`;
      await assertRefused(hosts(await freePort(), old.port), new RegExp(each));
      const both = `${none}: \\S+ and \\S+: it is PostgreSQL 14\\.12: version 15 [^;]*$`;
      await assertRefused(hosts(old.port, old.port), new RegExp(both));
      await old.close();
    });
  });

  it('is refused by a server that is older than 15', async () => {
    const old = await OldServer.start({ version: '140012', name: '14.12 (Debian 14.12-1)' });
    await assertRefused(
      url('ada', { port: old.port }),
      /is PostgreSQL 14\.12: version 15 or newer is needed/,
    );
    await old.close();
  });

  describe('with TLS', () => {
    const secure = (): string => url('secure', { host: 'localhost' });

    it('is taken where the certificate is of a known authority and for the name of the host', async () => {
      const { session } = await connected(secure(), { tls: { ca: authority.cert } });
      const { rows } = await session.client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      assert.deepEqual(rows, [{ ssl: true }]);
      await session.close();
    });

    it('is taken where the name of the certificate is entered', async () => {
      const tls = { ca: authority.cert, servername: 'localhost' };
      const { session } = await connected(url('secure'), { tls });
      await session.close();
    });

    const REFUSED_WITH: [why: string, reason: RegExp, login: string, host: string, ca?: () => string][] = [
      [
        'where the certificate is for another name',
        /for another name/,
        'secure',
        '127.0.0.1',
        () => authority.cert,
      ],
      [
        'where no password will do',
        /login other than by/,
        'foreign:hunter',
        'localhost',
        () => authority.cert,
      ],
      [
        'with a TLS node that cannot be used',
        /node of the inbox cannot be used/,
        'secure',
        'localhost',
        () => 'none',
      ],
      [
        'without it where the server asks for it',
        /does not let this user in from here/,
        'secure',
        'localhost',
      ],
    ];
    for (const [why, reason, login, host, ca] of REFUSED_WITH)
      it(`is refused ${why}`, () =>
        assertRefused(url(login, { host }), reason, { tls: ca ? { ca: ca() } : 'off' }));

    it('is refused where nobody knows the authority', () =>
      assertRefused(secure(), /certificate of the database is not accepted .* TLS node of the inbox/, {
        tls: 'verify',
      }));

    it('is refused where the server has none', async () => {
      const plain = await PostgresServer.start();
      await assertRefused(url('admin', { port: plain.port }), /it has no TLS/, { tls: 'verify' });
      await plain.remove();
    });
  });

  describe('that is tried out', () => {
    const tryOut = (
      text: string,
      changes: Partial<ConnectionChoices> = {},
    ): ReturnType<typeof testConnection> =>
      testConnection(readConnection(text, { schema: 'rvm', tls: 'off', instanceName: '', ...changes }));

    it('shows what the inbox will find there', async () => {
      const { roundTrip, version, ...report } = await tryOut(url('admin'));
      assert.ok(roundTrip !== undefined && roundTrip > 0);
      assert.match(version ?? '', /^\d+\.\d+$/);
      assert.deepEqual(report, {
        host: `127.0.0.1:${server.port}`,
        isWritable: true,
        synchronousCommit: 'on',
        hasRights: true,
        schemaVersion: 'absent',
        standbys: [],
        listens: true,
        warnings: [],
      });
    });

    it('shows the version of TLS', async () => {
      const { tls } = await tryOut(url('secure', { host: 'localhost' }), { tls: { ca: authority.cert } });
      assert.equal(tls, 'TLSv1.3');
    });

    it('shows how far it came where the role lacks rights', async () => {
      const { host, hasRights, fault = '' } = await tryOut(url('least'));
      assert.deepEqual([host, hasRights], [`127.0.0.1:${server.port}`, false]);
      assert.match(fault, /^Its role may not make or change the tables.*rvm-inbox sql.*\.$/);
    });

    it('shows why there is none, and no password', async () => {
      const report = await tryOut(url('ada:hunter-wrong'));
      assert.match(report.fault ?? '', /^No connection to the database at .* refuses the login/);
      assert.doesNotMatch(JSON.stringify(report), /hunter/);
    });

    it('shows where it answers no more before all is tried', async () => {
      const facts = { version: '150000', name: '15.0', encoding: 'UTF8', synchronousCommit: 'on' };
      const silent = await OldServer.start(facts, 3);
      const settings = settingsOf(url('ada', { port: silent.port }));
      const { version, fault = '' } = await testConnection(settings, 200);
      assert.equal(version, '15.0');
      assert.match(fault, /^It does not answer in time: .*\.$/);
      await silent.close();
    });

    it('leaves nothing behind', async () => {
      await tryOut(url('admin'));
      const [schemas] = await server.sql(`SELECT count(*)::int FROM pg_namespace WHERE nspname = 'rvm'`);
      assert.deepEqual(schemas, { count: 0 });
    });
  });
});
