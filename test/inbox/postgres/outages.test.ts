import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { testConnection } from '../../../lib/inbox/postgres/test-connection';
import { incoming, newSchema, openStore, sharedStore, type OpenStore } from '../../support/postgres/stores';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const NEXT = { endpoint: incoming().endpoint, limit: 10, health: 10, ordered: false };
const OURS = `FROM pg_stat_activity WHERE application_name LIKE 'rvm %'`;

describe('a store whose database goes away', () => {
  let server: PostgresServer;
  let schema: string;
  const open: OpenStore[] = [];

  before(async function () {
    needs(this, 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());
  beforeEach(() => (schema = newSchema()));
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ store }) => store.close()));
  });

  async function another(url = server.url()): Promise<OpenStore> {
    const opened = await openStore(url, schema);
    open.push(opened);
    return opened;
  }

  /** For a second nothing is written to a table. */
  async function blocked(table: string): Promise<{ over: Promise<unknown> }> {
    const name = `"${schema}".${table}`;
    const over = server.sql(`BEGIN; LOCK ${name} IN EXCLUSIVE MODE; SELECT pg_sleep(1); COMMIT`);
    const locks = `SELECT 1 FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = '${name}'::regclass`;
    await eventually(async () => (await server.sql(locks)).length > 0, 'the lock');
    return { over };
  }

  /** Ends the connection of the store that waits for a lock, once it does. */
  async function endWaiting(): Promise<void> {
    const end = `SELECT pg_terminate_backend(pid) ${OURS} AND wait_event_type = 'Lock'`;
    await eventually(async () => (await server.sql(end)).length > 0, 'it to wait');
  }

  for (const how of ['fast', 'immediate', 'kill'] as const)
    it(`loses and doubles nothing of what is under way when that is restarted (${how}), and keeps its epoch`, async () => {
      const { store, told } = await another();
      const { deliveryId } = await store.call('accept', { message: incoming(), lease: 'any' });
      const accepted: string[] = [];
      const over = new AbortController();
      const sending = Promise.all(
        Array.from({ length: 8 }, async (_, sender) => {
          for (let number = 0; !over.signal.aborted; number += 1) {
            const message = incoming({ id: `${sender}/${number}` });
            const acceptance = await store.call('accept', { message, lease: 'no' }).catch(() => undefined);
            if (acceptance !== undefined) accepted.push(message.id);
          }
        }),
      );
      await eventually(() => accepted.length > 50, 'messages to come');
      await server.end(how);
      await server.run();
      const before = accepted.length;
      await eventually(() => accepted.length > before + 50, 'messages to come again');
      over.abort();
      await sending;
      assert.equal(told.opened.length, 2);
      assert.equal(told.epochsLost, 0);
      assert.deepEqual(await store.call('leased', NEXT.endpoint), [deliveryId]);
      const rows = await server.sql(`SELECT id FROM "${schema}".message`);
      const stored = new Set(rows.map(({ id }) => id));
      assert.deepEqual(
        accepted.filter((id) => !stored.has(id)),
        [],
      );
    });

  it('sends a message again whose answer was lost with the connection', async () => {
    const { store } = await another();
    const blocker = await blocked('message');
    const accepting = store.call('accept', { message: incoming(), lease: 'no' });
    await endWaiting();
    assert.equal((await accepting).outcome, 'new');
    await blocker.over;
  });

  it('sends a settlement again whose answer was lost with the connection', async () => {
    const { store } = await another();
    const { deliveryId } = await store.call('accept', { message: incoming(), lease: 'any' });
    const blocker = await blocked('work');
    const finishing = store.call('finish', { deliveryId, state: 'delivered', give: false });
    await endWaiting();
    assert.equal((await finishing)?.endpoint, NEXT.endpoint);
    assert.equal(await store.call('stateOf', deliveryId), 'delivered');
    await blocker.over;
  });

  it('fails what else was under way, and says why', async () => {
    const { store } = await another();
    const blocker = await blocked('work');
    const leasing = store.call('lease', NEXT);
    const failed = assert.rejects(leasing, {
      code: 'STORE_FAILED',
      message: /its database: .*ended the connection/,
    });
    await endWaiting();
    await failed;
    await blocker.over;
  });

  it('fails within three seconds what could not be sent, says why, and works again once it is back', async () => {
    const { store, told } = await another();
    await server.end('fast');
    await assert.rejects(store.call('accept', { message: incoming(), lease: 'no' }), {
      code: 'STORE_FAILED',
      message: /no connection to the database at 127\.0\.0\.1:\d+: nothing answers there/,
    });
    assert.match(told.faults.at(-1) ?? '', /nothing answers there/);
    await server.run();
    await eventually(() => told.opened.length === 2, 'it to be open again');
    await store.call('ping', undefined);
  });

  it('makes its tables anew where they were dropped', async () => {
    const { store, told } = await another();
    await server.sql(`DROP SCHEMA "${schema}" CASCADE`);
    await eventually(
      () =>
        store.call('accept', { message: incoming(), lease: 'no' }).then(
          ({ outcome }) => outcome === 'new',
          () => false,
        ),
      'it to accept again',
    );
    await eventually(() => told.epochsLost === 1 && store.mayHandOver(), 'a new epoch');
  });

  it('opens once its database is there', async () => {
    await server.end('fast');
    const opened = sharedStore(server.url(), schema);
    open.push(opened);
    await eventually(() => opened.told.faults.length > 1, 'it to try');
    await server.run();
    await eventually(() => opened.told.opened.length === 1, 'it to open');
  });

  it('is closed within a moment all the same', async () => {
    const { store } = await another();
    await server.end('fast');
    const calling = assert.rejects(store.call('ping', undefined), { code: 'STORE_FAILED' });
    const timeUp = Symbol('time up');
    const first = await Promise.race([store.close(), delay(10_000, timeUp, { ref: false })]);
    assert.notEqual(first, timeUp);
    await calling;
    await server.run();
  });
});

describe('a store of several servers', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let schema: string;
  const open: OpenStore[] = [];

  beforeEach(async function () {
    needs(this, 'postgres');
    schema = newSchema();
    primary = await PostgresServer.start();
    standby = await PostgresServer.start({ standbyOf: { primary, name: 'second' } });
    await primary.sql(`ALTER SYSTEM SET synchronous_standby_names = 'second'`);
    await primary.sql('SELECT pg_reload_conf()');
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ store }) => store.close()));
    await standby?.remove();
    await primary?.remove();
  });

  async function another(): Promise<OpenStore> {
    const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`;
    const opened = await openStore(`postgres://admin@${hosts}/postgres`, schema);
    open.push(opened);
    return opened;
  }

  it('works with the one that can be written, and goes to the other once that is promoted', async () => {
    const { store, told } = await another();
    const { deliveryId } = await store.call('accept', { message: incoming(), lease: 'any' });
    assert.deepEqual(told.warnings, []);
    await primary.end('kill');
    await standby.promote();
    await eventually(() => told.opened.length === 2, 'it to be open again');
    assert.deepEqual(await store.call('leased', NEXT.endpoint), [deliveryId]);
    assert.equal(told.epochsLost, 0);
    await store.call('accept', { message: incoming(), lease: 'any' });
  });

  it('acknowledges nothing while the standby is away, piles up no connections, and goes on once it is back', async () => {
    const { store, told } = await another();
    await store.call('accept', { message: incoming(), lease: 'no' });
    await standby.end('fast');
    const message = incoming();
    const answered: string[] = [];
    const underWay = store
      .call('accept', { message, lease: 'no' })
      .then(({ outcome }) => answered.push(outcome));
    const isTold = (): boolean =>
      told.faults.some((fault) => /waits for its synchronous standby/.test(fault));
    await eventually(isTold, 'it to be told');
    for (let tries = 0; tries < 3; tries += 1)
      await assert.rejects(store.call('accept', { message: incoming(), lease: 'no' }), {
        code: 'STORE_FAILED',
        message: /waits for its synchronous standby/,
      });
    assert.deepEqual(answered, []);
    assert.ok(store.mayHandOver(), 'its beats wait for no standby');
    const [row] = await primary.sql(`SELECT count(*)::int AS count ${OURS}`);
    assert.ok(Number(row?.['count']) <= 4, JSON.stringify(row));
    await standby.run();
    await underWay;
    assert.deepEqual(answered, ['new']);
    assert.equal(told.opened.length, 1);
  });

  it('shows which standby is waited for, and that it is away, where the connection is tried out', async () => {
    const text = `postgres://admin@127.0.0.1:${primary.port}/postgres`;
    const settings = readConnection(text, { schema, tls: 'off', instanceName: 'one' });
    const before = await testConnection(settings);
    assert.deepEqual([before.standbys, before.warnings], [['second'], []]);
    await standby.end('fast');
    for (let tries = 0; tries < 3; tries += 1) {
      const { standbys, warnings } = await testConnection(settings);
      assert.deepEqual([standbys, warnings], [['second'], ['standby-away']]);
    }
    const [row] = await primary.sql(`SELECT count(*)::int AS count ${OURS}`);
    assert.equal(row?.['count'], 1, 'only the first of them waits still');
    await standby.run();
  });

  it('goes to the other one with all its connections, though the former can still be written', async () => {
    const { store, told } = await another();
    await store.call('isKnown', { station: 'north', id: 'x' });
    await eventually(() => told.waiting.length > 0, 'its pulse');
    await standby.promote();
    const pulse = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rvm pulse%'`;
    await eventually(
      async () => (await standby.sql('SELECT pg_is_in_recovery() AS is'))[0]?.['is'] === false,
      'it to be promoted',
    );
    await primary.sql(pulse);
    await eventually(() => told.opened.length === 2, 'it to be open again');
    await store.call('accept', { message: incoming(), lease: 'no' });
    await store.call('isKnown', { station: 'north', id: 'x' });
    await eventually(
      async () => (await primary.sql(`SELECT 1 ${OURS}`)).length === 0,
      'all to have left the former',
    );
    await eventually(
      async () => (await standby.sql(`SELECT 1 ${OURS}`)).length === 3,
      'all to be at the other',
    );
  });

  it('says so where nobody waits for a standby', async () => {
    await primary.sql('ALTER SYSTEM RESET synchronous_standby_names');
    await primary.sql('SELECT pg_reload_conf()');
    await eventually(async () => {
      const [row] = await primary.sql('SHOW synchronous_standby_names');
      return row?.['synchronous_standby_names'] === '';
    }, 'the setting');
    const { told } = await another();
    assert.deepEqual(told.warnings, [{ kind: 'unsafe', what: 'standby-not-waited-for' }]);
  });
});
