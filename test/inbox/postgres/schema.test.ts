import assert from 'node:assert/strict';
import { migrate, migrations, SCHEMA_VERSION, schemaSql } from '../../../lib/inbox/postgres/schema';
import { accept, lease, PostgresStand } from '../../support/postgres/stores';

const ROLE = 'node_red';

describe('the schema of an inbox', () => {
  const postgres = PostgresStand.shared();
  before(() => postgres.sql(`CREATE ROLE ${ROLE} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`));

  /** Brings it up to date, or makes it. */
  async function migrated(role?: string, steps?: readonly string[]): Promise<void> {
    await migrate(await postgres.connection(role), postgres.schema, steps);
  }

  async function version(): Promise<unknown> {
    const rows = `SELECT value FROM ${postgres.table('meta')} WHERE name = 'schema_version'`;
    const [row] = await postgres.sql(rows);
    return row?.['value'];
  }

  it('is made where there is none, once by several that come at the same time, and left as it is afterwards', async () => {
    await Promise.all([migrated(), migrated(), migrated()]);
    await migrated();
    assert.equal(await version(), String(SCHEMA_VERSION));
  });

  it('may have any name', async () => {
    postgres.schema += ` "quoted" 'and more' ö`;
    const store = await postgres.session();
    await accept(store);
    assert.equal((await lease(store)).length, 1);
  });

  it('may have a name that would end a text, or the block of an administrator', async () => {
    postgres.schema += ` \\' $rvm_inbox$; x`;
    const { client } = await postgres.connection();
    await client.query('SET standard_conforming_strings TO off');
    await migrated();
    await client.query(schemaSql(postgres.schema, ROLE));
    const rows = await postgres.sql(`SELECT nspname FROM pg_namespace WHERE nspname LIKE '%; x'`);
    assert.deepEqual(rows, [{ nspname: postgres.schema }]);
  });

  it('goes on from where it is, and an older version of the package works on', async () => {
    const older = await postgres.session();
    const steps = [
      ...migrations(postgres.schema),
      `ALTER TABLE ${postgres.table('message')} ADD COLUMN note text`,
    ];
    await migrated(undefined, steps);
    await accept(older);
    assert.equal((await lease(older)).length, 1);
    await migrated();
    assert.equal(await version(), String(steps.length));
  });

  it('is refused where an older version of the package cannot use it', async () => {
    await migrated();
    await postgres.sql(`UPDATE ${postgres.table('meta')} SET value = '${SCHEMA_VERSION + 1}'`);
    await assert.rejects(migrated(), /newer version of this package .* install that version/);
  });

  it('is left as it was where a step fails', async () => {
    const steps = [...migrations(postgres.schema), 'CREATE TABLE broken ('];
    await assert.rejects(migrated(undefined, steps), /syntax error/);
    const found = await postgres.sql(`SELECT FROM pg_namespace WHERE nspname = '${postgres.schema}'`);
    assert.deepEqual(found, []);
  });

  it('is not made by a role that may not: it says whom to ask', () =>
    assert.rejects(migrated(ROLE), /may not make .* administrator run what "rvm-inbox sql" prints/));

  it('is not used by a role without rights: it says which to grant', async () => {
    await migrated();
    await assert.rejects(migrated(ROLE), /lacks rights .* grant it USAGE/);
    await postgres.sql(schemaSql(postgres.schema, ROLE));
    await postgres.sql(`REVOKE DELETE ON ${postgres.table('work')} FROM ${ROLE}`);
    await assert.rejects(migrated(ROLE), /lacks rights .* DELETE/);
  });

  it('may share its name with tables of others', async () => {
    await postgres.sql(
      `CREATE SCHEMA "${postgres.schema}"; CREATE TABLE ${postgres.table('other')} (id text)`,
    );
    await postgres.sql(schemaSql(postgres.schema, ROLE));
    await migrated(ROLE);
  });
});
