import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { codeOf } from '../../../lib/inbox/postgres/session';
import { schemaSql } from '../../../lib/inbox/postgres/schema';
import { runProgram } from '../../support/inbox/moving';
import { SharedServer } from '../../support/postgres/shared-server';
import { accept, ENDPOINT, finish, incoming, lease, StoreSession } from '../../support/postgres/stores';
import { needs, programPath } from '../../support/suite/programs';

const ROLE = 'node "red"';

describe('rvm-inbox sql', () => {
  let server: SharedServer;
  let database: string;
  let count = 0;

  before(async function () {
    needs(this, 'postgres', 'psql');
    server = await SharedServer.use();
    await server.sql(`CREATE ROLE "node ""red""" LOGIN`);
  });
  after(() => server?.remove());
  beforeEach(async () => {
    count += 1;
    database = `sql${count}`;
    await server.database(database);
    // As where a careful administrator keeps everybody out.
    await server.sql(`REVOKE ALL ON DATABASE ${server.nameOf(database)} FROM PUBLIC`);
  });

  /** As an administrator does. */
  function psql(text: string): string {
    const options = ['-X', '-v', 'ON_ERROR_STOP=1', '-d', server.url(database)];
    const { status, stderr } = spawnSync(programPath('psql') ?? '', options, {
      input: text,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    return stderr;
  }

  async function version(): Promise<string> {
    const [row] = await server.sql(`SELECT value FROM alarms.meta WHERE name = 'schema_version'`, database);
    return String(row?.['value']);
  }

  function asRole(): Promise<StoreSession> {
    const url = server.url(database, encodeURIComponent(ROLE));
    return StoreSession.open(url, { schema: 'alarms' });
  }

  it('prints what psql can run as it is', async () => {
    const { code, out, error } = await runProgram(['sql', '--schema', 'alarms', '--role', ROLE]);
    assert.deepEqual([code, error], [0, '']);
    psql(out);
    assert.match(await version(), /^\d+$/);
  });

  it('makes the same tables as an inbox makes itself', async () => {
    psql(schemaSql('alarms'));
    await (await StoreSession.open(server.url(database), { schema: 'rvm' })).close();
    const columns = (schema: string) =>
      server.sql(
        `SELECT table_name, column_name, data_type, column_default IS NULL AS bare, is_nullable, identity_generation
          FROM information_schema.columns WHERE table_schema = '${schema}' ORDER BY 1, ordinal_position`,
        database,
      );
    const indexes = (schema: string) =>
      server.sql(
        `SELECT indexname, replace(indexdef, '${schema}.', '') AS indexdef FROM pg_indexes WHERE schemaname = '${schema}' ORDER BY 1`,
        database,
      );
    assert.ok((await columns('alarms')).length > 40);
    assert.deepEqual(await columns('alarms'), await columns('rvm'));
    assert.deepEqual(await indexes('alarms'), await indexes('rvm'));
  });

  it('changes nothing where it is run once more, whatever is in the tables', async () => {
    psql(schemaSql('alarms', ROLE));
    const store = await asRole();
    const message = incoming();
    const { deliveryId } = await accept(store, message);
    psql(schemaSql('alarms', ROLE));
    const repeat = await accept(store, message);
    assert.deepEqual([repeat.outcome, repeat.deliveryId], ['repeat', deliveryId]);
    await store.close();
  });

  it('leaves the tables of a newer version as they are', async () => {
    psql(schemaSql('alarms'));
    await server.sql(`UPDATE alarms.meta SET value = '999' WHERE name = 'schema_version'`, database);
    psql(schemaSql('alarms'));
    assert.equal(await version(), '999');
  });

  it('gives the role all that an inbox does', async () => {
    psql(schemaSql('alarms', ROLE));
    const store = await asRole();
    const accepted = async (): Promise<string> => (await accept(store, {}, 'any')).deliveryId;
    await store.call('claimEndpoint', { endpoint: ENDPOINT, node: 'node' });
    const [settled, exhausted, back] = [await accepted(), await accepted(), await accepted()];
    assert.equal((await store.call('leased', ENDPOINT)).length, 3);
    await store.call('finish', { deliveryId: settled, state: 'delivered', give: true });
    await store.call('lapse', { deliveryId: back, again: 'lease', maxAttempts: 9 });
    assert.equal(await store.call('again', back), 2);
    await store.call('lapse', { deliveryId: exhausted, again: 'lease', maxAttempts: 1 });
    assert.equal(await store.call('revive', { deliveryId: exhausted }), ENDPOINT);
    assert.equal(await store.call('giveBack', { unsent: [], cutOff: [back] }), 1);
    assert.equal((await lease(store)).length, 2);
    await store.call('markDelivered', [back]);
    await finish(store, exhausted, 'dead');
    assert.equal(await store.call('dismiss', { deliveryId: exhausted }), true);
    await store.call('tellHolder', { deliveryId: randomUUID(), wish: 'retry' });
    const unproven = { endpoint: ENDPOINT, address: '192.0.2.1', facts: '{}', bytes: Buffer.from('{}') };
    await store.call('quarantine', unproven);
    const [{ id } = assert.fail()] = await store.call('quarantined', ENDPOINT);
    await store.call('quarantinedSums', undefined);
    await store.call('release', [id]);
    await store.call('releaseUpTo', { endpoint: ENDPOINT, id });
    for (const key of ['viewKey', 'quarantineKey'] as const)
      assert.equal((await store.call(key, undefined)).byteLength, 32);
    await store.call('assign', { from: ENDPOINT, to: ':/other' });
    assert.deepEqual(await store.call('openByEndpoint', undefined), {});
    assert.equal((await store.call('list', { state: 'all', limit: 10 })).length, 3);
    assert.equal((await store.call('instances', undefined)).length, 1);
    assert.equal(await store.call('isKnown', { station: 'north', id: 'none' }), false);
    await store.call('putSlots', { owner: 'o', writes: [{ name: 'a', value: '1' }, { name: 'b' }] });
    await store.call('dropSlots', { owner: 'o' });
    assert.deepEqual((await store.call('slots', { owner: 'o', since: 0 })).slots, []);
    assert.deepEqual(await store.call('slotOwners', ''), []);
    assert.deepEqual(await store.call('slotVersions', ['o']), { o: 2 });
    while (await store.call('tidy', { keys: -1, bodies: -1 }));
    await store.call('ping', undefined);
    assert.deepEqual(await store.call('list', { state: 'all', limit: 10 }), []);
    await store.close();
  });

  it('gives the role no right to make, change or remove a table', async () => {
    psql(schemaSql('alarms', ROLE));
    const store = await asRole();
    for (const statement of [
      'CREATE TABLE alarms.more ()',
      'CREATE SCHEMA more',
      'DROP TABLE alarms.message',
      'DROP SCHEMA alarms CASCADE',
      'TRUNCATE alarms.message',
      'ALTER TABLE alarms.message ADD COLUMN more text',
      'CREATE INDEX ON alarms.message (received)',
    ])
      await assert.rejects(
        store.session.client.query(statement),
        (error) => codeOf(error) === '42501',
        statement,
      );
    await store.close();
  });

  it('grants nothing to anybody where no role is named', () => {
    assert.ok(!schemaSql('alarms').includes('GRANT'));
  });
});
