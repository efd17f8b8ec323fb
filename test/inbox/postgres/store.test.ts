import assert from 'node:assert/strict';
import { newSchema, openStore, type OpenStore, incoming } from '../../support/postgres/stores';
import { SharedServer } from '../../support/postgres/shared-server';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const ENDPOINT = incoming().endpoint;
const NEXT = { endpoint: ENDPOINT, limit: 10, health: 10, ordered: false };

describe('stores that share a database', () => {
  let server: SharedServer;
  let schema: string;
  const open: OpenStore[] = [];

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(() => (schema = newSchema()));
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ store }) => store.close()));
  });

  async function another(instanceName = 'one'): Promise<OpenStore> {
    const opened = await openStore(server.url(), schema, { instanceName });
    open.push(opened);
    return opened;
  }

  it('accept a message, lease it and finish it', async () => {
    const { store } = await another();
    const { outcome, deliveryId } = await store.call('accept', { message: incoming(), lease: 'no' });
    assert.equal(outcome, 'new');
    const leased = await store.call('lease', NEXT);
    assert.deepEqual(
      leased.map((message) => message.deliveryId),
      [deliveryId],
    );
    const finished = await store.call('finish', { deliveryId, state: 'delivered', give: false });
    assert.deepEqual(finished, { was: 'leased', endpoint: ENDPOINT });
  });

  it('tell each other at once of what waits', async () => {
    const one = await another('one');
    const other = await another('other');
    await eventually(() => other.told.waiting.length > 0, 'the other to listen');
    await one.store.call('accept', { message: incoming(), lease: 'no' });
    await eventually(() => other.told.stirred.includes(ENDPOINT), 'the other to hear of it');
  });

  it('tell the one that holds an event at once that another has settled it', async () => {
    const [one, other] = [await another('one'), await another('other')];
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    await other.store.call('finish', { deliveryId, state: 'delivered', give: false });
    await eventually(() => one.told.wishes.length > 0, 'the holder to hear of it');
    assert.deepEqual(one.told.wishes, [[deliveryId, 'settled']]);
  });

  it('tell the one that holds an event what the flow of another wants, in the order in which it does', async () => {
    const [one, other] = [await another('one'), await another('other')];
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
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
    const one = await another('one');
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    await server.sql(
      `INSERT INTO "${schema}".wish (holder, delivery_id, wish) SELECT epoch, '${deliveryId}', 'retry' FROM "${schema}".instance`,
    );
    await eventually(() => one.told.wishes.length > 0, 'the holder to look');
    assert.deepEqual(one.told.wishes, [[deliveryId, 'retry']]);
  });

  it('hear within a moment of what waits also where the notice of it is lost', async () => {
    const one = await another('one');
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    await server.sql(`UPDATE "${schema}".work SET state = 'received', holder = NULL`);
    await eventually(() => one.told.waiting.some((waiting) => waiting[ENDPOINT] === 1), 'it to be counted');
    await eventually(() => one.told.stirred.length > 0, 'it to be told');
    assert.deepEqual(
      (await one.store.call('lease', NEXT)).map((message) => message.deliveryId),
      [deliveryId],
    );
  });

  it('leave what they have leased to the others at once when they are closed', async () => {
    const [one, other] = [await another('one'), await another('other')];
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    await eventually(() => other.told.waiting.length > 0, 'the other to listen');
    await one.store.close();
    await eventually(() => other.told.stirred.includes(ENDPOINT), 'the other to hear of it');
    const [leased] = await other.store.call('lease', NEXT);
    assert.deepEqual([leased?.deliveryId, leased?.attempt, leased?.again], [deliveryId, 2, 'restart']);
    const names = await server.sql(`SELECT name FROM "${schema}".instance`);
    assert.deepEqual(names, [{ name: 'other' }]);
  });

  it('do what was asked of them before they are closed, and nothing after it', async () => {
    const { store } = await another();
    const calls = Array.from({ length: 20 }, () =>
      store.call('accept', { message: incoming(), lease: 'no' }),
    );
    const closed = store.close();
    await assert.rejects(store.call('ping', undefined), { code: 'STORE_FAILED' });
    await Promise.all([...calls, closed]);
    const rows = await server.sql(`SELECT count(*)::int AS count FROM "${schema}".message`);
    assert.deepEqual(rows, [{ count: 20 }]);
  });

  it('do what nobody waits for all the same, a moment later', async () => {
    const { store } = await another();
    await store.call('markDelivered', [], false);
  });

  it('leave no connection behind when they are closed', async () => {
    const { store } = await another();
    await store.call('isKnown', { station: 'north', id: 'x' });
    await store.close();
    const backends = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name LIKE 'rvm %'`;
    await eventually(async () => (await server.sql(backends))[0]?.['count'] === 0, 'all to be gone');
  });

  it('use three connections each', async () => {
    const { store, told } = await another('of three');
    await store.call('isKnown', { station: 'north', id: 'x' });
    await eventually(() => told.waiting.length > 0, 'its pulse');
    const names = await server.sql(
      `SELECT application_name AS name FROM pg_stat_activity WHERE application_name LIKE 'rvm % of three' ORDER BY 1`,
    );
    const purposes = names.map(({ name }) => String(name).split(' ')[1]);
    assert.deepEqual(purposes, ['pulse', 'side', 'work']);
  });

  it('tell where the database is not as durable as it should be, and are so themselves', async () => {
    await server.sql(`ALTER ROLE admin SET synchronous_commit = off`);
    try {
      const { told, store } = await another();
      assert.deepEqual(told.warnings, [{ kind: 'unsafe', what: 'synchronous-commit-off' }]);
      await store.call('accept', { message: incoming(), lease: 'no' });
    } finally {
      await server.sql('ALTER ROLE admin RESET synchronous_commit');
    }
  });

  it('beat and look all the same where no connection but one is to be had', async () => {
    await server.sql(
      `CREATE ROLE limited LOGIN CONNECTION LIMIT 1; GRANT CREATE ON DATABASE ${server.name} TO limited`,
    );
    const one = await openStore(server.url(undefined, 'limited'), schema);
    open.push(one);
    const beats = async (): Promise<number> =>
      Number((await server.sql(`SELECT beats::int FROM "${schema}".instance`))[0]?.['beats']);
    const before = await beats();
    await eventually(async () => (await beats()) > before + 1, 'two beats');
    assert.ok(one.told.waiting.length > 0);
    assert.deepEqual(one.told.faults, []);
    await assert.rejects(one.store.call('isKnown', { station: 'north', id: 'x' }), {
      code: 'STORE_FAILED',
      message: /no connection left/,
    });
  });

  it('send at most a hundred messages together', async () => {
    const { store } = await another();
    const all = Array.from({ length: 250 }, () => store.call('accept', { message: incoming(), lease: 'no' }));
    await Promise.all(all);
    const sizes = await server.sql(
      `SELECT count(*)::int AS count FROM "${schema}".message GROUP BY xmin::text`,
    );
    const counts = sizes.map(({ count }) => Number(count));
    assert.ok(Math.max(...counts) === 100, counts.join());
    assert.ok(counts.length <= 5, counts.join());
  });

  it('send at most eight mebibytes of bodies together', async () => {
    const { store } = await another();
    const bytes = Buffer.alloc(1024 * 1024, 1);
    const all = Array.from({ length: 20 }, () =>
      store.call('accept', { message: incoming({ bytes }), lease: 'no' }),
    );
    await Promise.all(all);
    const sizes = await server.sql(
      `SELECT count(*)::int AS count FROM "${schema}".message GROUP BY xmin::text`,
    );
    const counts = sizes.map(({ count }) => Number(count));
    assert.ok(Math.max(...counts) <= 8, counts.join());
  });

  it('answer what is at fault with its error, and all that was asked with it', async () => {
    const { store } = await another();
    const query = { state: 'all', limit: 1 } as const;
    const calls = [
      store.call('accept', { message: incoming(), lease: 'no' }),
      store.call('accept', { message: incoming({ received: Number.NaN }), lease: 'no' }),
      store.call('accept', { message: incoming(), lease: 'no' }),
      store.call('list', query),
    ];
    const outcomes = await Promise.allSettled(calls);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
  });
});
