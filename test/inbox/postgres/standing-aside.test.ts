import assert from 'node:assert/strict';
import { accept, idsOf, lease, type OpenStore, PostgresStand } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';

describe('a store that stands aside', () => {
  const postgres = PostgresStand.own();
  let one: OpenStore;
  beforeEach(async () => (one = await another('one')));

  async function another(instanceName: string): Promise<OpenStore> {
    const opened = await postgres.store(instanceName);
    await eventually(() => opened.told.waiting.length > 0, 'its connections');
    return opened;
  }

  async function names({ store }: OpenStore): Promise<string[]> {
    return (await store.call('instances', undefined)).map(({ name }) => name);
  }

  it('is no instance any more, and leaves what it has leased to the others', async () => {
    const other = await another('other');
    const { deliveryId } = await accept(one.store, {}, 'any');
    await one.store.standAside();
    assert.deepEqual(await names(other), ['other']);
    const [leased] = await lease(other.store);
    assert.deepEqual([leased?.deliveryId, leased?.attempt, leased?.again], [deliveryId, 2, 'restart']);
  });

  it('leaves to them, too, what it was asked to lease just before', async () => {
    const other = await another('other');
    const accepting = accept(one.store, {}, 'any');
    await one.store.standAside();
    assert.deepEqual(idsOf(await lease(other.store)), idsOf([await accepting]));
  });

  it('stores what comes all the same, and leases nothing', async () => {
    await one.store.standAside();
    const { outcome, leased } = await accept(one.store, {}, 'any');
    assert.deepEqual([outcome, leased], ['new', false]);
    assert.deepEqual(await lease(one.store), []);
    assert.equal(one.store.isLeaseSafe(), false);
  });

  it('takes part again, without a word of having been taken for dead', async () => {
    const accepted = await accept(one.store, {}, 'any');
    await one.store.standAside();
    one.store.takePart();
    await eventually(() => one.store.isLeaseSafe(), 'its next beat');
    assert.deepEqual(idsOf(await lease(one.store)), idsOf([accepted]));
    assert.deepEqual([one.told.epochsLost, one.told.warnings], [0, []]);
  });

  it('goes on where it is wanted again before it has stood aside', async () => {
    const standing = one.store.standAside();
    one.store.takePart();
    await standing;
    assert.equal(one.store.isLeaseSafe(), true);
    assert.deepEqual(await names(one), ['one']);
  });

  it('keeps nobody waiting for more than two seconds where the database is away', async () => {
    await postgres.server.end('fast');
    try {
      await one.store.standAside();
    } finally {
      await postgres.server.run();
    }
  });
});
