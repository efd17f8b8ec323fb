import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { Accepted, AnyCall, LeasedMessage, StoreCalls } from '../../../lib/inbox/store/protocol';
import { newMessage } from '../../../lib/inbox/store/stored-message';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, openStore } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';
import { proven } from '../samples';

const NORTH = ':/north';
const SOUTH = ':/south';
const EAST = '8443:/east';

/** A store of whichever kind. */
interface Asked {
  call<Name extends AnyCall>(name: Name, take: StoreCalls[Name]['take']): Promise<StoreCalls[Name]['give']>;
  close(): Promise<void>;
}

function inSqlite(): Asked {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-endpoints-'));
  const store = new Store({ file: path.join(folder, 'inbox.sqlite'), resumed: false });
  return {
    call: async (name, take) => store.transaction(() => store.work[name](take)),
    close: async () => {
      store.close();
      fs.rmSync(folder, { recursive: true });
    },
  };
}

describe('which webhook node has which endpoint', () => {
  describe('in SQLite', () => define(async () => inSqlite()));

  describe('in PostgreSQL', () => {
    let server: SharedServer;
    before(async function () {
      needs(this, 'postgres', 'initdb');
      server = await SharedServer.use();
    });
    after(() => server.remove());

    define(async () => (await openStore(server.url(), newSchema())).store);
  });
});

function define(opened: () => Promise<Asked>): void {
  let store: Asked;
  beforeEach(async () => {
    store = await opened();
  });
  afterEach(() => store.close());

  const claim = (endpoint: string, node: string): Promise<number> =>
    store.call('claimEndpoint', { endpoint, node });
  const accept = (
    endpointId: string,
    event: Record<string, unknown> = {},
    lease: StoreCalls['accept']['take']['lease'] = 'no',
  ): Promise<Accepted> => store.call('accept', { message: newMessage(proven(event, { endpointId })), lease });
  const lease = (endpoint: string): Promise<LeasedMessage[]> =>
    store.call('lease', { endpoint, limit: 10, health: 10, ordered: true });
  const finish = (deliveryId: string): Promise<StoreCalls['finish']['give']> =>
    store.call('finish', { deliveryId, state: 'delivered', give: false });
  const dieFor = async ({ deliveryId }: Accepted): Promise<void> => {
    await lease(NORTH);
    await store.call('lapse', { deliveryId, again: 'lease', maxAttempts: 1 });
  };
  const revive = (deliveryId: string): Promise<string | undefined> => store.call('revive', { deliveryId });
  const open = (): Promise<Record<string, number>> => store.call('openByEndpoint', undefined);
  const quarantine = (endpoint: string): Promise<void> =>
    store.call('quarantine', { endpoint, address: '', facts: '{}', bytes: new Uint8Array(1) });
  const quarantined = async (): Promise<string[]> =>
    (await store.call('quarantinedSums', undefined)).map(({ endpoint }) => endpoint);

  it('says how many events wait at its endpoint, those that came along among them', async () => {
    assert.equal(await claim(NORTH, 'one'), 0);
    await accept(NORTH);
    await accept(NORTH);
    await accept(SOUTH);
    assert.equal(await claim(NORTH, 'one'), 2);
    assert.equal(await claim(SOUTH, 'one'), 3);
    assert.deepEqual(await open(), { [SOUTH]: 3 });
  });

  it('takes along what it had where it was: what waits, what the flow has, and what nothing proved', async () => {
    await claim(NORTH, 'one');
    const { deliveryId } = await accept(NORTH);
    await lease(NORTH);
    await accept(NORTH);
    await quarantine(NORTH);
    assert.equal(await claim(SOUTH, 'one'), 1);
    assert.deepEqual([await open(), await quarantined()], [{ [SOUTH]: 2 }, [SOUTH]]);
    assert.deepEqual(await finish(deliveryId), { was: 'leased', endpoint: SOUTH });
  });

  it('has a dead letter come again where it is now', async () => {
    await claim(NORTH, 'one');
    const dead = await accept(NORTH);
    await dieFor(dead);
    await claim(SOUTH, 'one');
    assert.equal(await revive(dead.deliveryId), SOUTH);
    assert.deepEqual(
      (await lease(SOUTH)).map(({ deliveryId }) => deliveryId),
      [dead.deliveryId],
    );
  });

  it('leaves what is settled as it was: nobody asks for it by its endpoint', async () => {
    await claim(NORTH, 'one');
    const { deliveryId } = await accept(NORTH);
    await finish(deliveryId);
    assert.equal(await claim(SOUTH, 'one'), 0);
    assert.deepEqual(await finish(deliveryId), { was: 'delivered', endpoint: NORTH });
  });

  it('takes nothing from a path that another node has, as a copy of the flow may', async () => {
    await claim(NORTH, 'one');
    await claim(NORTH, 'copy');
    await accept(NORTH);
    await quarantine(NORTH);
    assert.equal(await claim(SOUTH, 'one'), 0);
    assert.deepEqual([await open(), await quarantined()], [{ [NORTH]: 1 }, [NORTH]]);
    assert.equal(await claim(SOUTH, 'copy'), 1);
  });

  it('takes nothing that it never had', async () => {
    await claim(NORTH, 'one');
    await accept(NORTH);
    assert.equal(await claim(SOUTH, 'other'), 0);
    assert.deepEqual(await open(), { [NORTH]: 1 });
  });

  it('takes along what waits under its id, and knows it where no claim of that is left', async () => {
    await accept('one');
    await accept('other');
    await quarantine('one');
    assert.equal(await claim(NORTH, 'one'), 1);
    assert.deepEqual([await open(), await quarantined()], [{ [NORTH]: 1, other: 1 }, [NORTH]]);
  });

  it('may come back, and takes along what came meanwhile', async () => {
    await claim(NORTH, 'one');
    await claim(SOUTH, 'one');
    await accept(SOUTH);
    assert.equal(await claim(NORTH, 'one'), 1);
    assert.deepEqual(await open(), { [NORTH]: 1 });
  });

  it('takes nothing from where it was before that: another had it since', async () => {
    await claim(NORTH, 'one');
    await claim(SOUTH, 'one');
    await claim(NORTH, 'two');
    await accept(NORTH);
    await store.call('leaveEndpoint', { node: 'two' });
    assert.equal(await claim(SOUTH, 'one'), 0);
    assert.deepEqual(await open(), { [NORTH]: 1 });
  });

  it('takes along what waits where it was disabled', async () => {
    await claim(NORTH, 'one');
    await accept(NORTH);
    await store.call('leaveEndpoint', { node: 'one' });
    assert.equal(await claim(SOUTH, 'one'), 1);
  });

  it('takes along what waits where it was once a copy there is gone for good', async () => {
    await claim(NORTH, 'one');
    await claim(NORTH, 'copy');
    await accept(NORTH);
    await store.call('leaveEndpoint', { node: 'copy' });
    assert.deepEqual(await open(), { [NORTH]: 1 });
    assert.equal(await claim(SOUTH, 'one'), 1);
  });

  it('leaves what waits to whoever has its path next, where it is gone for good', async () => {
    await claim(NORTH, 'one');
    await accept(NORTH);
    await store.call('leaveEndpoint', { node: 'one' });
    assert.equal(await claim(NORTH, 'next'), 1);
    assert.equal(await claim(SOUTH, 'one'), 0);
  });

  it('gets all of its path where it is imported anew, with another id', async () => {
    await claim(NORTH, 'one');
    await accept(NORTH);
    assert.equal(await claim(NORTH, 'imported'), 1);
  });

  it('hands its path on to one of its former places, and on from there, without a loss', async () => {
    await claim(NORTH, 'one');
    await claim(SOUTH, 'two');
    await accept(NORTH);
    await accept(SOUTH);
    await claim(EAST, 'two');
    await claim(SOUTH, 'one');
    assert.deepEqual(await open(), { [EAST]: 1, [SOUTH]: 1 });
  });

  it('has the events of an alarm in order, wherever each of them came', async () => {
    await claim(NORTH, 'one');
    const first = await accept(NORTH, { alarmId: 'fence' });
    await claim(SOUTH, 'copy');
    const second = await accept(SOUTH, { alarmId: 'fence' });
    await claim(SOUTH, 'one');
    for (const { deliveryId } of [first, second]) {
      const leased = (await lease(SOUTH)).map((event) => event.deliveryId);
      assert.deepEqual(leased, [deliveryId]);
      await finish(deliveryId);
    }
  });

  it('lets nothing that comes in overtake what came along', async () => {
    await claim(SOUTH, 'one');
    assert.deepEqual(await lease(SOUTH), []);
    assert.equal((await accept(SOUTH, {}, 'any')).leased, true);
    await accept('one');
    await claim(SOUTH, 'one');
    assert.equal((await accept(SOUTH, {}, 'any')).leased, false);
  });

  it('can be given what no node has: open events, dead letters, and what nothing proved', async () => {
    const dead = await accept(NORTH);
    await dieFor(dead);
    await accept(NORTH);
    await quarantine(NORTH);
    await accept(SOUTH);
    assert.equal(await store.call('assign', { from: NORTH, to: SOUTH }), 2);
    assert.equal(await store.call('assign', { from: SOUTH, to: SOUTH }), 2);
    assert.deepEqual([await open(), await quarantined()], [{ [SOUTH]: 2 }, [SOUTH]]);
    assert.equal(await revive(dead.deliveryId), SOUTH);
  });
}
