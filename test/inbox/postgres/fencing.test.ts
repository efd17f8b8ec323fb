import assert from 'node:assert/strict';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, incoming, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const ENDPOINT = incoming().endpoint;

describe('an event that an instance has leased', () => {
  let server: SharedServer;
  let holder: StoreSession;
  let other: StoreSession;
  let deliveryId: string;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    const schema = newSchema();
    holder = await StoreSession.open(server.url(), { schema });
    other = await StoreSession.open(server.url(), { schema });
    ({ deliveryId } = await holder.call('accept', { message: incoming(), lease: 'any' }));
  });
  afterEach(() => Promise.all([holder.close(), other.close()]));

  async function wishes(): Promise<unknown[]> {
    const rows = await server.sql(
      `SELECT holder, delivery_id, wish FROM "${holder.schema}".wish ORDER BY number`,
    );
    return rows.map(({ holder: of, delivery_id: id, wish }) => [of, id, wish]);
  }

  it('is leased by no other', async () => {
    assert.deepEqual(
      await other.call('lease', { endpoint: ENDPOINT, limit: 5, health: 5, ordered: false }),
      [],
    );
    assert.deepEqual(await other.call('leased', ENDPOINT), []);
  });

  it('is scheduled by no other', async () => {
    assert.equal(await other.call('lapse', { deliveryId, again: 'lease', maxAttempts: 1 }), undefined);
    assert.equal(await other.call('again', deliveryId), undefined);
    assert.equal(await other.call('giveBack', { unsent: [deliveryId], cutOff: [deliveryId] }), 0);
    assert.deepEqual(await holder.call('leased', ENDPOINT), [deliveryId]);
  });

  it('is settled by any, and the holder is told', async () => {
    const finished = await other.call('finish', { deliveryId, state: 'delivered', give: false });
    assert.equal(finished?.was, 'leased');
    assert.deepEqual(await wishes(), [[holder.epoch, deliveryId, 'settled']]);
    assert.equal(await holder.call('again', deliveryId), undefined);
  });

  it('is marked as delivered by any, and the holder is told', async () => {
    await other.call('markDelivered', [deliveryId]);
    assert.deepEqual(await wishes(), [[holder.epoch, deliveryId, 'settled']]);
    assert.equal(await other.call('stateOf', deliveryId), 'delivered');
  });

  it('is settled by its holder without a word', async () => {
    await holder.call('finish', { deliveryId, state: 'dead', give: false });
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
    await holder.call('lease', { endpoint: ENDPOINT, limit: 1, health: 1, ordered: false });
    await server.sql(`DELETE FROM "${holder.schema}".instance WHERE epoch = '${holder.epoch}'`);
    assert.equal(await other.call('tellHolder', { deliveryId, wish: 'extend' }), false);
    assert.deepEqual(await wishes(), []);
  });

  it('is given to nobody where the epoch has ended before the answer came', async () => {
    const waiting = await other.call('accept', { message: incoming(), lease: 'no' });
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
      rows.map(({ epoch, held, isSelf }) => ({ epoch, held, isSelf })),
      [
        { epoch: holder.epoch, held: 1, isSelf: false },
        { epoch: other.epoch, held: 0, isSelf: true },
      ],
    );
  });
});
