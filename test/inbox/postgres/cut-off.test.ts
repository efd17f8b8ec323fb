import assert from 'node:assert/strict';
import { PEER_TIMEOUT } from '../../../lib/inbox/model';
import { TcpGate } from '../../support/network/servers';
import { accept, ENDPOINT, lease, type OpenStore, PostgresStand } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';

describe('a store that is cut off from its database', () => {
  const postgres = PostgresStand.shared();
  let gate: TcpGate;
  let one: OpenStore;
  /** Milliseconds by which its clock is moved. */
  let ahead: number;
  beforeEach(async () => {
    ahead = 0;
    gate = await TcpGate.start(postgres.server.port);
    one = await postgres.store('one', {
      url: postgres.server.url().replace(`:${postgres.server.port}`, `:${gate.port}`),
      clocks: { monotonic: () => performance.now() + ahead, wall: () => Date.now() + ahead },
    });
    await eventually(() => one.told.waiting.length > 0, 'its pulse');
  });
  afterEach(() => gate.close());

  it('hands nothing over after eight seconds, and goes on with its epoch where nobody else was there', async () => {
    const { deliveryId } = await accept(one.store, {}, 'any');
    gate.cut();
    ahead = 0.8 * PEER_TIMEOUT;
    assert.equal(one.store.isLeaseSafe(), false);
    gate.mend();
    await eventually(() => one.store.isLeaseSafe(), 'it to hand over again');
    assert.equal(one.told.epochsLost, 0);
    assert.equal(one.told.isLeaseSafe, 2);
    assert.deepEqual(await one.store.call('leased', ENDPOINT), [deliveryId]);
  });

  it('loses its events to the others, and leases nothing under the epoch that it had', async () => {
    const { deliveryId } = await accept(one.store, {}, 'any');
    const other = await postgres.store('other');
    await eventually(() => other.told.waiting.length > 0, 'the pulse of the other');
    gate.cut();
    const late = accept(one.store, {}, 'any').catch(() => undefined);
    await eventually(() => other.told.warnings.length > 0, 'the other to take over');
    assert.ok(!one.store.isLeaseSafe());
    assert.deepEqual(other.told.warnings, [{ kind: 'taken-over', name: 'one', count: 1 }]);
    const [taken] = await lease(other.store);
    assert.deepEqual([taken?.deliveryId, taken?.again], [deliveryId, 'restart']);
    gate.mend();
    await eventually(() => one.told.epochsLost === 1, 'it to find out');
    assert.notEqual((await late)?.leased, true);
    const [warning] = one.told.warnings;
    assert.ok(warning?.kind === 'epoch-lost' && warning.stood > 8000, JSON.stringify(warning));
    await eventually(() => one.store.isLeaseSafe(), 'it to hand over again');
    assert.deepEqual(await one.store.call('leased', ENDPOINT), []);
  });

  it('makes another connection where its own was ended meanwhile', async () => {
    gate.cut();
    const failing = assert.rejects(lease(one.store), { code: 'STORE_FAILED' });
    await eventually(() => one.told.faults.length > 0, 'it to say that there is no answer');
    await postgres.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rvm %'`,
    );
    gate.mend();
    await failing;
    await eventually(() => one.told.opened.length === 2, 'it to be open again');
    await one.store.call('ping', undefined);
  });

  it('gives up a connection for which nobody is at work', async () => {
    gate.strand();
    const lost = { code: 'STORE_FAILED', message: /the connection to it was lost/ };
    await assert.rejects(lease(one.store), lost);
    await eventually(() => one.told.opened.length === 2, 'it to be open again');
    await one.store.call('ping', undefined);
    await eventually(() => one.store.isLeaseSafe(), 'its pulse to beat again');
    assert.equal(one.told.epochsLost, 0);
  });

  it('does nothing to its former leases that was asked for in an epoch that has ended since', async () => {
    const { deliveryId } = await accept(one.store, {}, 'any');
    const unlock = await postgres.stranger(`LOCK TABLE ${postgres.table('body')}`);
    const waiting = accept(one.store);
    await new Promise(setImmediate);
    const { store } = one;
    const ofTheLease = [
      store.call('giveBack', { unsent: [deliveryId], cutOff: [] }),
      store.call('lapse', { deliveryId, again: 'lease', maxAttempts: 9 }),
      store.call('again', deliveryId),
    ].map((call) => assert.rejects(call, { code: 'STORE_FAILED', message: /took this instance for dead/ }));
    const settled = store.call('markDelivered', [deliveryId]);
    await postgres.sql(`DELETE FROM ${postgres.table('instance')}`);
    store.takePart();
    await eventually(() => one.told.epochsLost === 1, 'it to find out');
    await unlock();
    await Promise.all([waiting, settled, ...ofTheLease]);
    assert.equal(await store.call('stateOf', deliveryId), 'delivered');
  });
});
