import assert from 'node:assert/strict';
import { TTL } from '../../../lib/inbox/postgres/instance/time-to-live';
import { TcpGate } from '../../support/network/servers';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, openStore, type OpenStore, incoming } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const ENDPOINT = incoming().endpoint;
const NEXT = { endpoint: ENDPOINT, limit: 10, health: 10, ordered: false };

describe('a store that is cut off from its database', () => {
  let server: SharedServer;
  let gate: TcpGate;
  let schema: string;
  let one: OpenStore;
  /** Milliseconds by which its clock is moved. */
  let ahead: number;
  const others: OpenStore[] = [];

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    schema = newSchema();
    ahead = 0;
    gate = await TcpGate.start(server.port);
    one = await openStore(server.url().replace(`:${server.port}`, `:${gate.port}`), schema, {
      instanceName: 'one',
      clocks: { steady: () => performance.now() + ahead, wall: () => Date.now() + ahead },
    });
    await eventually(() => one.told.waiting.length > 0, 'its pulse');
  });
  afterEach(async () => {
    await Promise.all([one, ...others.splice(0)].map(({ store }) => store.close()));
    await gate.close();
  });

  it('hands nothing over after eight seconds, and goes on with its epoch where nobody else was there', async () => {
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    gate.cut();
    ahead = 0.8 * TTL;
    assert.equal(one.store.mayHandOver(), false);
    gate.mend();
    await eventually(() => one.store.mayHandOver(), 'it to hand over again');
    assert.equal(one.told.epochsLost, 0);
    assert.equal(one.told.mayHandOver, 2);
    assert.deepEqual(await one.store.call('leased', ENDPOINT), [deliveryId]);
  });

  it('loses its events to the others, and leases nothing under the epoch that it had', async () => {
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    const other = await openStore(server.url(), schema, { instanceName: 'other' });
    others.push(other);
    await eventually(() => other.told.waiting.length > 0, 'the pulse of the other');
    gate.cut();
    const late = one.store.call('accept', { message: incoming(), lease: 'any' }).catch(() => undefined);
    await eventually(() => other.told.warnings.length > 0, 'the other to take over');
    assert.ok(!one.store.mayHandOver());
    assert.deepEqual(other.told.warnings, [{ kind: 'taken-over', name: 'one', count: 1 }]);
    const [taken] = await other.store.call('lease', NEXT);
    assert.deepEqual([taken?.deliveryId, taken?.again], [deliveryId, 'restart']);
    gate.mend();
    await eventually(() => one.told.epochsLost === 1, 'it to find out');
    assert.notEqual((await late)?.leased, true);
    const [warning] = one.told.warnings;
    assert.ok(warning?.kind === 'epoch-lost' && warning.stood > 8000, JSON.stringify(warning));
    await eventually(() => one.store.mayHandOver(), 'it to hand over again');
    assert.deepEqual(await one.store.call('leased', ENDPOINT), []);
  });

  it('makes another connection where its own was ended meanwhile', async () => {
    gate.cut();
    const failing = assert.rejects(one.store.call('lease', NEXT), { code: 'STORE_FAILED' });
    await eventually(() => one.told.faults.length > 0, 'it to say that there is no answer');
    await server.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rvm %'`,
    );
    gate.mend();
    await failing;
    await eventually(() => one.told.opened.length === 2, 'it to be open again');
    await one.store.call('ping', undefined);
  });

  it('gives up a connection for which nobody is at work', async () => {
    gate.strand();
    await assert.rejects(one.store.call('lease', NEXT), {
      code: 'STORE_FAILED',
      message: /the connection to it was lost/,
    });
    await eventually(() => one.told.opened.length === 2, 'it to be open again');
    await one.store.call('ping', undefined);
    await eventually(() => one.store.mayHandOver(), 'its pulse to beat again');
    assert.equal(one.told.epochsLost, 0);
  });
});
