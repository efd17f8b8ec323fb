import assert from 'node:assert/strict';
import {
  accept,
  ENDPOINT,
  finish,
  incoming,
  lease,
  PostgresStand,
  type StoreSession,
} from '../../support/postgres/stores';

describe('an event that an instance has leased', () => {
  const postgres = PostgresStand.shared();
  let holder: StoreSession;
  let other: StoreSession;
  let deliveryId: string;
  beforeEach(async () => {
    [holder, other] = [await postgres.session(), await postgres.session()];
    ({ deliveryId } = await accept(holder, {}, 'any'));
  });

  async function wishes(): Promise<unknown[]> {
    const rows = await postgres.sql(`SELECT * FROM ${postgres.table('wish')} ORDER BY number`);
    return rows.map(({ holder: of, delivery_id: id, wish }) => [of, id, wish]);
  }

  it('is leased by no other', async () => {
    assert.deepEqual(await lease(other), []);
    assert.deepEqual(await other.call('leased', ENDPOINT), []);
  });

  it('is scheduled by no other', async () => {
    assert.equal(await other.call('lapse', { deliveryId, again: 'lease', maxAttempts: 1 }), undefined);
    assert.equal(await other.call('again', deliveryId), undefined);
    assert.equal(await other.call('giveBack', { unsent: [deliveryId], cutOff: [deliveryId] }), 0);
    assert.deepEqual(await holder.call('leased', ENDPOINT), [deliveryId]);
  });

  for (const [how, settle] of [
    ['settled', () => finish(other, deliveryId)],
    ['marked as delivered', () => other.call('markDelivered', [deliveryId])],
  ] as const)
    it(`is ${how} by any, and the holder is told`, async () => {
      await settle();
      assert.deepEqual(await wishes(), [[holder.epoch, deliveryId, 'settled']]);
      assert.equal(await other.call('stateOf', deliveryId), 'delivered');
      assert.equal(await holder.call('again', deliveryId), undefined);
    });

  it('is settled by its holder without a word', async () => {
    await finish(holder, deliveryId, 'dead');
    assert.deepEqual(await wishes(), []);
  });

  it('is asked for again at its holder', async () => {
    assert.equal(await other.call('tellHolder', { deliveryId, wish: 'retry' }), true);
    assert.equal(await holder.call('tellHolder', { deliveryId, wish: 'retry' }), false);
    assert.deepEqual(await wishes(), [[holder.epoch, deliveryId, 'retry']]);
  });

  it('has no holder to tell once it waits, or the holder is gone', async () => {
    await holder.call('giveBack', { unsent: [deliveryId], cutOff: [] });
    assert.equal(await other.call('tellHolder', { deliveryId, wish: 'extend' }), false);
    await lease(holder);
    await postgres.sql(`DELETE FROM ${postgres.table('instance')} WHERE epoch = '${holder.epoch}'`);
    assert.equal(await other.call('tellHolder', { deliveryId, wish: 'extend' }), false);
    assert.deepEqual(await wishes(), []);
  });

  it('is given to nobody where the epoch has ended before the answer came', async () => {
    const waiting = await accept(other);
    const asked = holder.batch(
      ['accept', { message: incoming({ endpoint: ':/elsewhere' }), lease: 'any' }],
      ['lease', { endpoint: ENDPOINT, limit: 1, health: 1, ordered: false }],
      ['leased', ENDPOINT],
    );
    holder.beginAnew();
    const [accepted, leases, leased] = await asked;
    assert.equal(accepted.leased, false);
    assert.deepEqual([leases, leased], [[], []]);
    assert.equal(await other.call('stateOf', waiting.deliveryId), 'leased');
  });

  it('is counted for its instance, oldest first', async () => {
    const rows = await other.call('instances', undefined);
    assert.deepEqual(
      rows.map(({ epoch, held, isSelf }) => [epoch, held, isSelf]),
      [
        [holder.epoch, 1, false],
        [other.epoch, 0, true],
      ],
    );
  });
});
