import assert from 'node:assert/strict';
import { accept, finish, idsOf, incoming, lease, PostgresStand } from '../../support/postgres/stores';
import { ENDPOINT, type OpenStore } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';

describe('stores that share a database', () => {
  const postgres = PostgresStand.shared();

  async function two(): Promise<[OpenStore, OpenStore]> {
    const [one, other] = [await postgres.store('one'), await postgres.store('other')];
    await eventually(() => other.told.waiting.length > 0, 'the other to listen');
    return [one, other];
  }

  /** Of the connections of an instance. */
  async function purposes(instanceName: string): Promise<unknown[]> {
    const rows = await postgres.sql(
      `SELECT split_part(application_name, ' ', 2) AS purpose FROM pg_stat_activity
        WHERE application_name LIKE 'rvm % ${instanceName}' ORDER BY 1`,
    );
    return rows.map(({ purpose }) => purpose);
  }

  it('tell each other at once of what waits', async () => {
    const [one, other] = await two();
    await accept(one.store);
    await eventually(() => other.told.stirred.includes(ENDPOINT), 'the other to hear of it');
  });

  it('tell the one that holds an event at once that another has settled it', async () => {
    const [one, other] = await two();
    const { deliveryId } = await accept(one.store, {}, 'any');
    await finish(other.store, deliveryId);
    await eventually(() => one.told.wishes.length > 0, 'the holder to hear of it');
    assert.deepEqual(one.told.wishes, [[deliveryId, 'settled']]);
  });

  it('tell the one that holds an event what the flow of another wants, in the order in which it does', async () => {
    const [one, other] = await two();
    const { deliveryId } = await accept(one.store, {}, 'any');
    assert.ok(await other.store.call('tellHolder', { deliveryId, wish: 'extend' }));
    assert.ok(await other.store.call('tellHolder', { deliveryId, wish: 'retry' }));
    await eventually(() => one.told.wishes.length > 1, 'the holder to hear of both');
    assert.deepEqual(one.told.wishes, [
      [deliveryId, 'extend'],
      [deliveryId, 'retry'],
    ]);
    assert.deepEqual(other.told.wishes, []);
  });

  it('hear of a wish also where the notice of it is lost', async () => {
    const one = await postgres.store();
    const { deliveryId } = await accept(one.store, {}, 'any');
    await postgres.sql(
      `INSERT INTO ${postgres.table('wish')} (holder, delivery_id, wish)
        SELECT epoch, '${deliveryId}', 'retry' FROM ${postgres.table('instance')}`,
    );
    await eventually(() => one.told.wishes.length > 0, 'the holder to look');
    assert.deepEqual(one.told.wishes, [[deliveryId, 'retry']]);
  });

  it('hear within a moment of what waits also where the notice of it is lost', async () => {
    const one = await postgres.store();
    const accepted = await accept(one.store, {}, 'any');
    await postgres.sql(`UPDATE ${postgres.table('work')} SET state = 'received', holder = NULL`);
    await eventually(() => one.told.waiting.some((waiting) => waiting[ENDPOINT] === 1), 'it to be counted');
    await eventually(() => one.told.stirred.length > 0, 'it to be told');
    assert.deepEqual(idsOf(await lease(one.store)), idsOf([accepted]));
  });

  it('leave what they have leased to the others at once when they are closed', async () => {
    const [one, other] = await two();
    const { deliveryId } = await accept(one.store, {}, 'any');
    await one.store.close();
    await eventually(() => other.told.stirred.includes(ENDPOINT), 'the other to hear of it');
    const [leased] = await lease(other.store);
    assert.deepEqual([leased?.deliveryId, leased?.attempt, leased?.again], [deliveryId, 2, 'restart']);
    const names = await postgres.sql(`SELECT name FROM ${postgres.table('instance')}`);
    assert.deepEqual(names, [{ name: 'other' }]);
  });

  it('do what was asked of them before they are closed, and nothing after it', async () => {
    const { store } = await postgres.store();
    const calls = Array.from({ length: 20 }, () => accept(store));
    const closed = store.close();
    await assert.rejects(store.call('ping', undefined), { code: 'STORE_FAILED' });
    await Promise.all([...calls, closed]);
    const rows = await postgres.sql(`SELECT count(*)::int AS count FROM ${postgres.table('message')}`);
    assert.deepEqual(rows, [{ count: 20 }]);
  });

  it('do what nobody waits for all the same, a moment later', async () => {
    const { store } = await postgres.store();
    const { deliveryId } = await accept(store);
    // Once nothing is under way with which it would go.
    await new Promise(setImmediate);
    await store.call('markDelivered', [deliveryId], false);
    assert.equal(await store.call('stateOf', deliveryId), 'delivered');
  });

  it('accept while a page of what they have takes its time', async () => {
    const { store } = await postgres.store();
    const unlock = await postgres.stranger(`LOCK TABLE ${postgres.table('course')}`);
    const period = { since: 0, until: Number.MAX_SAFE_INTEGER, limit: 1, bodies: false, steps: false };
    const page = store.call('page', { state: 'all', ...period });
    await accept(store);
    await unlock();
    await page;
  });

  it('use three connections each, and leave none behind when they are closed', async () => {
    const { store, told } = await postgres.store('of three');
    await store.call('isKnown', { station: 'north', id: 'x' });
    await eventually(() => told.waiting.length > 0, 'its pulse');
    assert.deepEqual(await purposes('of three'), ['pulse', 'side', 'work']);
    await store.close();
    await eventually(async () => (await purposes('of three')).length === 0, 'all to be gone');
  });

  it('tell where the database is not as durable as it should be, and are so themselves', async () => {
    await postgres.sql(`ALTER ROLE admin SET synchronous_commit = off`);
    try {
      const { told, store } = await postgres.store();
      assert.deepEqual(told.warnings, [{ kind: 'unsafe', what: 'synchronous-commit-off' }]);
      await accept(store);
    } finally {
      await postgres.sql('ALTER ROLE admin RESET synchronous_commit');
    }
  });

  it('beat and look all the same where no connection but one is to be had', async () => {
    await postgres.sql(
      `CREATE ROLE limited LOGIN CONNECTION LIMIT 1; GRANT CREATE ON DATABASE ${postgres.server.name} TO limited`,
    );
    const one = await postgres.store('one', { url: postgres.server.url(undefined, 'limited') });
    const beats = async (): Promise<number> =>
      Number((await postgres.sql(`SELECT beats::int FROM ${postgres.table('instance')}`))[0]?.['beats']);
    const before = await beats();
    await eventually(async () => (await beats()) > before + 1, 'two beats');
    assert.ok(one.told.waiting.length > 0);
    assert.deepEqual(one.told.faults, []);
    await assert.rejects(one.store.call('isKnown', { station: 'north', id: 'x' }), {
      code: 'STORE_FAILED',
      message: /no connection left/,
    });
  });

  const TOGETHER: [title: string, count: number, bytes: number, most: number][] = [
    ['a hundred messages', 250, 7, 100],
    ['eight mebibytes of bodies', 20, 1024 * 1024, 8],
  ];
  for (const [title, count, size, most] of TOGETHER)
    it(`send at most ${title} together, and hardly less where there are more`, async () => {
      const { store } = await postgres.store();
      const bytes = Buffer.alloc(size, 1);
      await Promise.all(Array.from({ length: count }, () => accept(store, { bytes })));
      const sizes = await postgres.sql(
        `SELECT count(*)::int AS count FROM ${postgres.table('message')} GROUP BY xmin::text`,
      );
      const counts = sizes.map((row) => Number(row['count']));
      assert.equal(Math.max(...counts), most, counts.join());
      assert.ok(counts.length <= 5, counts.join());
    });

  it('answer what is at fault with its error, and all that was asked with it', async () => {
    const { store } = await postgres.store();
    const messages = [incoming(), incoming({ received: Number.NaN }), incoming()];
    const calls = [
      ...messages.map((message) => accept(store, message)),
      store.call('list', { state: 'all', limit: 1 }),
    ];
    const outcomes = await Promise.allSettled<unknown>(calls);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
  });
});
