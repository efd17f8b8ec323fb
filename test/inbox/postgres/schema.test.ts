import assert from 'node:assert/strict';
import { migrate, migrations, SCHEMA_VERSION } from '../../../lib/inbox/postgres/schema';
import { schemaSql } from '../../../lib/inbox/postgres/schema-sql';
import type { Session } from '../../../lib/inbox/postgres/session';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, connected, incoming, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const ROLE = 'node_red';
const NEXT = { endpoint: incoming().endpoint, limit: 5, health: 5, ordered: true };

describe('the schema of an inbox', () => {
  let server: SharedServer;
  let schema: string;
  const sessions: Session[] = [];

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
    await server.sql(`CREATE ROLE ${ROLE} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
  });
  after(() => server?.remove());
  beforeEach(() => (schema = newSchema()));
  afterEach(async () => {
    await Promise.all(sessions.splice(0).map(({ client }) => client.end()));
  });

  async function session(role?: string): Promise<Session> {
    const opened = await connected(server.url(undefined, role));
    sessions.push(opened);
    return opened;
  }

  async function version(): Promise<unknown> {
    const [row] = await server.sql(`SELECT value FROM "${schema}".meta WHERE name = 'schema_version'`);
    return row?.['value'];
  }

  it('is made where there is none, and left as it is afterwards', async () => {
    for (let times = 0; times < 2; times += 1) await migrate(await session(), schema);
    assert.equal(await version(), String(SCHEMA_VERSION));
  });

  it('is made once by several that come at the same time', async () => {
    const all = [await session(), await session(), await session()];
    await Promise.all(all.map((each) => migrate(each, schema)));
    assert.equal(await version(), String(SCHEMA_VERSION));
  });

  it('may have any name', async () => {
    schema = `${schema} "quoted" 'and more' ö`;
    await migrate(await session(), schema);
    const store = await StoreSession.open(server.url(), { schema });
    await store.call('accept', { message: incoming(), lease: 'no' });
    assert.equal((await store.call('lease', NEXT)).length, 1);
    await store.close();
  });

  it('may have a name that would end a text, or the block of an administrator', async () => {
    schema = `${newSchema()} \\' $rvm_inbox$; x`;
    const [opened, store] = [await session(), await session()];
    await opened.client.query('SET standard_conforming_strings TO off');
    await migrate(opened, schema);
    await store.client.query(schemaSql(schema, ROLE));
    const rows = await server.sql(`SELECT nspname FROM pg_namespace WHERE nspname LIKE '%; x'`);
    assert.deepEqual(rows, [{ nspname: schema }]);
  });

  it('goes on from where it is, and an older version of the package works on', async () => {
    const older = await StoreSession.open(server.url(), { schema });
    const steps = [...migrations(schema), `ALTER TABLE "${schema}".message ADD COLUMN note text`];
    await migrate(await session(), schema, steps);
    await older.call('accept', { message: incoming(), lease: 'no' });
    assert.equal((await older.call('lease', NEXT)).length, 1);
    await older.close();
    await migrate(await session(), schema);
    assert.equal(await version(), String(steps.length));
  });

  it('is refused where an older version of the package cannot use it', async () => {
    await migrate(await session(), schema);
    await server.sql(`UPDATE "${schema}".meta SET value = '${SCHEMA_VERSION + 1}'`);
    await assert.rejects(
      migrate(await session(), schema),
      /newer version of this package .* install that version/,
    );
  });

  it('is left as it was where a step fails', async () => {
    const steps = [...migrations(schema), 'CREATE TABLE broken ('];
    await assert.rejects(migrate(await session(), schema, steps), /syntax error/);
    assert.deepEqual(await server.sql(`SELECT FROM pg_namespace WHERE nspname = '${schema}'`), []);
  });

  it('that an administrator has made is used by a role with the least rights', async () => {
    await server.sql(schemaSql(schema, ROLE));
    const store = await StoreSession.open(server.url(undefined, ROLE), { schema });
    const { deliveryId } = await store.call('accept', { message: incoming(), lease: 'no' });
    await store.call('lease', NEXT);
    await store.call('finish', { deliveryId, state: 'dead', give: true });
    await store.call('quarantine', {
      endpoint: 'e',
      address: 'a',
      facts: '{}',
      bytes: new Uint8Array(1),
    });
    await store.call('claimEndpoint', { endpoint: 'e', node: 'n' });
    await store.call('viewKey', undefined);
    await store.call('tidy', { keys: 0, bodies: 0 });
    await store.call('ping', undefined);
    await store.close();
  });

  it('is not made by a role that may not: it says whom to ask', async () => {
    const asked = migrate(await session(ROLE), schema);
    await assert.rejects(asked, /may not make .* administrator run what "rvm-inbox sql" prints/);
  });

  it('is not used by a role without rights: it says which to grant', async () => {
    await migrate(await session(), schema);
    await assert.rejects(migrate(await session(ROLE), schema), /lacks rights .* grant it USAGE/);
    await server.sql(schemaSql(schema, ROLE));
    await server.sql(`REVOKE DELETE ON "${schema}".work FROM ${ROLE}`);
    await assert.rejects(migrate(await session(ROLE), schema), /lacks rights .* DELETE/);
  });

  it('may share its name with tables of others', async () => {
    await server.sql(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}".other (id text)`);
    await server.sql(schemaSql(schema, ROLE));
    await migrate(await session(ROLE), schema);
  });
});
