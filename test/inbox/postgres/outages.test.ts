import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { testConnection } from '../../../lib/inbox/postgres/connect';
import { PostgresServer } from '../../support/postgres/postgres-server';
import * as stores from '../../support/postgres/stores';
import { accept, ENDPOINT, finish, lease, type OpenStore } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const OURS = `FROM pg_stat_activity WHERE application_name LIKE 'rvm %'`;
/** Milliseconds over which calls are made. */
const SPAN = 20;

describe('a store whose database goes away', () => {
  const postgres = stores.PostgresStand.own();

  /** What is asked of the store waits for a lock of this table, until its connection is ended. */
  async function cutOffWaiting<Answer>(table: string, ask: () => Promise<Answer>): Promise<Answer> {
    const unlock = await postgres.stranger(`LOCK ${postgres.table(table)} IN EXCLUSIVE MODE`);
    const asked = ask();
    const end = `SELECT pg_terminate_backend(pid) ${OURS} AND wait_event_type = 'Lock'`;
    await eventually(async () => (await postgres.sql(end)).length > 0, 'it to wait');
    await unlock();
    return asked;
  }

  for (const how of ['fast', 'immediate', 'kill'] as const)
    it(`loses and doubles nothing of what is under way when that is restarted (${how}), and keeps its epoch`, async () => {
      const { store, told } = await postgres.store();
      const { deliveryId } = await accept(store, {}, 'any');
      const accepted: string[] = [];
      const over = new AbortController();
      // Also where it fails: a store that is closed refuses each at once, and nothing else would have its turn.
      postgres.closing(() => over.abort());
      const sending = Promise.all(
        Array.from({ length: 8 }, async (_, sender) => {
          for (let number = 0; !over.signal.aborted; number += 1) {
            const id = `${sender}/${number}`;
            const acceptance = await accept(store, { id }).catch(() => undefined);
            if (acceptance !== undefined) accepted.push(id);
          }
        }),
      );
      await eventually(() => accepted.length > 50, 'messages to come');
      await postgres.server.end(how);
      await postgres.server.run();
      const before = accepted.length;
      await eventually(() => accepted.length > before + 50, 'messages to come again');
      over.abort();
      await sending;
      assert.deepEqual([told.opened.length, told.epochsLost], [2, 0]);
      assert.deepEqual(await store.call('leased', ENDPOINT), [deliveryId]);
      const rows = await postgres.sql(`SELECT id FROM ${postgres.table('message')}`);
      const stored = new Set(rows.map(({ id }) => id));
      assert.deepEqual(
        accepted.filter((id) => !stored.has(id)),
        [],
      );
    });

  it('sends a message again whose answer was lost with the connection', async () => {
    const { store } = await postgres.store();
    assert.equal((await cutOffWaiting('message', () => accept(store))).outcome, 'new');
  });

  it('sends a settlement again whose answer was lost with the connection', async () => {
    const { store } = await postgres.store();
    const { deliveryId } = await accept(store, {}, 'any');
    const finished = await cutOffWaiting('work', () => finish(store, deliveryId));
    assert.equal(finished?.endpoint, ENDPOINT);
    assert.equal(await store.call('stateOf', deliveryId), 'delivered');
  });

  it('fails what else was under way, and says why', async () => {
    const { store } = await postgres.store();
    const fails = { code: 'STORE_FAILED', message: /its database: .*ended the connection/ };
    await cutOffWaiting('work', () => assert.rejects(lease(store), fails));
  });

  it('fails within three seconds what could not be sent, says why, and works again once it is back', async () => {
    const { store, told } = await postgres.store();
    await postgres.server.end('fast');
    await assert.rejects(accept(store), {
      code: 'STORE_FAILED',
      message: /no connection to the database at 127\.0\.0\.1:\d+: nothing answers there/,
    });
    assert.match(told.faults.at(-1) ?? '', /nothing answers there/);
    await postgres.server.run();
    await eventually(() => told.opened.length === 2, 'it to be open again');
    await store.call('ping', undefined);
  });

  it('fails each of many calls, also those that become late while others are failed', async () => {
    const { store, told } = await postgres.store();
    await postgres.server.end('fast');
    await eventually(() => told.faults.length > 0, 'it to notice');
    let asked = 0;
    let failed = 0;
    // One after the other, so that the moments at which they are late lie close together.
    for (const until = performance.now() + SPAN; performance.now() < until; asked += 1)
      store.call('ping', undefined).catch(() => (failed += 1));
    await eventually(() => failed === asked, 'every call to fail');
    assert.ok(asked > 0);
    await postgres.server.run();
  });

  it('makes its tables anew where they were dropped', async () => {
    const { store, told } = await postgres.store();
    await postgres.sql(`DROP SCHEMA "${postgres.schema}" CASCADE`);
    const isTaken = (): Promise<boolean> =>
      accept(store).then(
        ({ outcome }) => outcome === 'new',
        () => false,
      );
    await eventually(isTaken, 'it to accept again');
    await eventually(() => told.epochsLost === 1 && store.isLeaseSafe(), 'a new epoch');
  });

  it('opens once its database is there', async () => {
    await postgres.server.end('fast');
    const { store, told } = stores.sharedStore(postgres.server.url(), postgres.schema);
    postgres.closing(() => store.close());
    await eventually(() => told.faults.length > 1, 'it to try');
    await postgres.server.run();
    await eventually(() => told.opened.length === 1, 'it to open');
  });

  it('is closed within a moment all the same', async () => {
    const { store } = await postgres.store();
    await postgres.server.end('fast');
    const calling = assert.rejects(store.call('ping', undefined), { code: 'STORE_FAILED' });
    const timeUp = Symbol('time up');
    const first = await Promise.race([store.close(), delay(10_000, timeUp, { ref: false })]);
    assert.notEqual(first, timeUp);
    await calling;
    await postgres.server.run();
  });
});

describe('a store of several servers', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let schema: string;
  const open: OpenStore[] = [];

  beforeEach(async function () {
    needs(this, 'postgres');
    schema = stores.newSchema();
    primary = await PostgresServer.start();
    standby = await PostgresServer.start({ standbyOf: { primary, name: 'second' } });
    await setStandby('second');
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ store }) => store.close()));
    await standby?.remove();
    await primary?.remove();
  });

  /** Whom commits wait for. */
  async function setStandby(name: string): Promise<void> {
    await primary.sql(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await primary.sql('SELECT pg_reload_conf()');
  }

  async function another(): Promise<OpenStore> {
    const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`;
    const opened = await stores.openStore(`postgres://admin@${hosts}/postgres`, schema);
    open.push(opened);
    return opened;
  }

  it('works with the one that can be written, and goes to the other once that is promoted', async () => {
    const { store, told } = await another();
    const { deliveryId } = await accept(store, {}, 'any');
    assert.deepEqual(told.warnings, []);
    await primary.end('kill');
    await standby.promote();
    await eventually(() => told.opened.length === 2, 'it to be open again');
    assert.deepEqual(await store.call('leased', ENDPOINT), [deliveryId]);
    assert.equal(told.epochsLost, 0);
    await accept(store, {}, 'any');
  });

  it('acknowledges nothing while the standby is away, piles up no connections, and goes on once it is back', async () => {
    const { store, told } = await another();
    await accept(store);
    await standby.end('fast');
    const answered: string[] = [];
    const underWay = accept(store).then(({ outcome }) => answered.push(outcome));
    const reason = /waits for its synchronous standby/;
    await eventually(() => told.faults.some((fault) => reason.test(fault)), 'it to be told');
    for (let tries = 0; tries < 3; tries += 1)
      await assert.rejects(accept(store), { code: 'STORE_FAILED', message: reason });
    assert.deepEqual(answered, []);
    assert.ok(store.isLeaseSafe(), 'its beats wait for no standby');
    const [row] = await primary.sql(`SELECT count(*)::int AS count ${OURS}`);
    assert.ok(Number(row?.['count']) <= 4, JSON.stringify(row));
    await standby.run();
    await underWay;
    assert.deepEqual(answered, ['new']);
    assert.equal(told.opened.length, 1);
  });

  it('shows which standby is waited for, and that it is away, where the connection is tried out', async () => {
    const settings = stores.settingsOf(primary.url(), schema);
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
    const isPromoted = async (): Promise<boolean> =>
      (await standby.sql('SELECT pg_is_in_recovery() AS is'))[0]?.['is'] === false;
    await eventually(isPromoted, 'it to be promoted');
    await primary.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rvm pulse%'`,
    );
    await eventually(() => told.opened.length === 2, 'it to be open again');
    await accept(store);
    await store.call('isKnown', { station: 'north', id: 'x' });
    const connections = async (server: PostgresServer): Promise<number> =>
      (await server.sql(`SELECT ${OURS}`)).length;
    await eventually(async () => (await connections(primary)) === 0, 'all to have left the former');
    await eventually(async () => (await connections(standby)) === 3, 'all to be at the other');
  });

  it('says so where nobody waits for a standby', async () => {
    await setStandby('');
    await eventually(async () => {
      const [row] = await primary.sql('SHOW synchronous_standby_names');
      return row?.['synchronous_standby_names'] === '';
    }, 'the setting');
    const { told } = await another();
    assert.deepEqual(told.warnings, [{ kind: 'unsafe', what: 'standby-not-waited-for' }]);
  });
});
