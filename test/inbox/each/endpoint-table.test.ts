import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { Accepted, StoreCalls } from '../../../lib/inbox/store/port';
import { type Asked, finish, idsOf, incoming, PostgresStand } from '../../support/postgres/stores';

/** What happens one after the other, as `node at endpoint: so many wait`, `event at endpoint` and so on; and what is there then. */
const CASES: [title: string, deeds: string, open: Record<string, number>, quarantined?: string[]][] = [
  [
    'says how many events wait at its endpoint, those that came along among them',
    'one at N: 0; event at N; event at N; event at S; one at N: 2; one at S: 3',
    { S: 3 },
  ],
  [
    'takes along what it had where it was: what waits, what the flow has, and what nothing proved',
    'one at N; event at N; leased at N; event at N; unproven at N; one at S: 1',
    { S: 2 },
    ['S'],
  ],
  [
    'takes nothing from a path that another node has, as a copy of the flow may',
    'one at N; copy at N; event at N; unproven at N; one at S: 0',
    { N: 1 },
    ['N'],
  ],
  [
    'takes from there what a copy that was the last leaves',
    'one at N; copy at N; event at N; one at S: 0; copy at S: 1',
    { S: 1 },
  ],
  ['takes nothing that it never had', 'one at N; event at N; other at S: 0', { N: 1 }],
  [
    'takes along what waits under its id, and knows it where no claim of that is left',
    'event at one; event at other; unproven at one; one at N: 1',
    { N: 1, other: 1 },
    ['N'],
  ],
  [
    'may come back, and takes along what came meanwhile',
    'one at N; one at S; event at S; one at N: 1',
    { N: 1 },
  ],
  [
    'takes nothing from where it was before that: another had it since',
    'one at N; one at S; two at N; event at N; two gone; one at S: 0',
    { N: 1 },
  ],
  ['takes along what waits where it was disabled', 'one at N; event at N; one gone; one at S: 1', { S: 1 }],
  [
    'takes along what waits where it was once a copy there is gone for good',
    'one at N; copy at N; event at N; copy gone; one at S: 1',
    { S: 1 },
  ],
  [
    'leaves what waits to whoever has its path next, where it is gone for good',
    'one at N; event at N; one gone; next at N: 1; one at S: 0',
    { N: 1 },
  ],
  ['gets all of its path where it is imported anew', 'one at N; event at N; imported at N: 1', { N: 1 }],
  [
    'hands its path on to one of its former places, and on from there, without a loss',
    'one at N; two at S; event at N; event at S; two at 8443:/east; one at S',
    { '8443:/east': 1, S: 1 },
  ],
];

function define(opened: () => Promise<Asked>): void {
  let store: Asked;
  beforeEach(async () => (store = await opened()));

  const claim = (node: string, endpoint: string): Promise<number> =>
    store.call('claimEndpoint', { endpoint, node });
  const accept = (
    endpoint: string,
    alarm?: string,
    lease: StoreCalls['accept']['take']['lease'] = 'no',
  ): Promise<Accepted> =>
    store.call('accept', { message: incoming({ endpoint, ...(alarm !== undefined && { alarm }) }), lease });
  const lease = async (endpoint: string): Promise<string[]> =>
    idsOf(await store.call('lease', { endpoint, limit: 10, health: 10, ordered: true }));
  const open = (): Promise<Record<string, number>> => store.call('openByEndpoint', undefined);
  const quarantine = (endpoint: string): Promise<void> =>
    store.call('quarantine', { endpoint, address: '', facts: '{}', bytes: new Uint8Array(1) });
  const quarantined = async (): Promise<string[]> =>
    (await store.call('quarantinedSums', undefined)).map(({ endpoint }) => endpoint);
  const dieAt = async (endpoint: string): Promise<string> => {
    const { deliveryId } = await accept(endpoint);
    await lease(endpoint);
    await store.call('lapse', { deliveryId, again: 'lease', maxAttempts: 1 });
    return deliveryId;
  };

  async function does(deed: string): Promise<void> {
    const [, what = '', place = '', count] = /^(\w+) (?:gone|at (\S+?)(?:: (\d+))?)$/.exec(deed) ?? [];
    if (place === '') await store.call('leaveEndpoint', { node: what });
    else if (what === 'event') await accept(place);
    else if (what === 'leased') await lease(place);
    else if (what === 'unproven') await quarantine(place);
    else {
      const waiting = await claim(what, place);
      if (count !== undefined) assert.equal(waiting, Number(count), deed);
    }
  }

  for (const [title, deeds, left, unproven = []] of CASES)
    it(title, async () => {
      for (const deed of deeds.split('; ')) await does(deed);
      assert.deepEqual([await open(), await quarantined()], [left, unproven]);
    });

  it('settles where it is now what the flow had where it was, and leaves what was settled before as it was', async () => {
    await claim('one', 'N');
    const [former, present] = [await accept('N'), await accept('N')];
    await finish(store, former.deliveryId);
    await lease('N');
    await claim('one', 'S');
    assert.deepEqual(await finish(store, former.deliveryId), { was: 'delivered', endpoint: 'N' });
    assert.deepEqual(await finish(store, present.deliveryId), { was: 'leased', endpoint: 'S' });
  });

  it('has a dead letter come again where it is now', async () => {
    await claim('one', 'N');
    const deliveryId = await dieAt('N');
    await claim('one', 'S');
    assert.equal(await store.call('revive', { deliveryId }), 'S');
    assert.deepEqual(await lease('S'), [deliveryId]);
  });

  it('has the events of an alarm in order, wherever each of them came', async () => {
    await claim('one', 'N');
    const first = await accept('N', 'fence');
    await claim('copy', 'S');
    const second = await accept('S', 'fence');
    await claim('one', 'S');
    for (const { deliveryId } of [first, second]) {
      assert.deepEqual(await lease('S'), [deliveryId]);
      await finish(store, deliveryId);
    }
  });

  it('lets nothing that comes in overtake what came along', async () => {
    await claim('one', 'S');
    assert.deepEqual(await lease('S'), []);
    assert.equal((await accept('S', undefined, 'any')).leased, true);
    await accept('one');
    await claim('one', 'S');
    assert.equal((await accept('S', undefined, 'any')).leased, false);
  });

  it('can be given what no node has: open events, dead letters, and what nothing proved', async () => {
    const deliveryId = await dieAt('N');
    for (const endpoint of ['N', 'S']) await accept(endpoint);
    await quarantine('N');
    assert.equal(await store.call('assign', { from: 'N', to: 'S' }), 2);
    assert.equal(await store.call('assign', { from: 'S', to: 'S' }), 2);
    assert.deepEqual([await open(), await quarantined()], [{ S: 2 }, ['S']]);
    assert.equal(await store.call('revive', { deliveryId }), 'S');
  });
}

describe('which webhook node has which endpoint', () => {
  describe('in SQLite', () => {
    const closing: (() => void)[] = [];
    afterEach(() => closing.splice(0).forEach((close) => close()));

    define(async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-endpoints-'));
      const store = new Store({ file: path.join(folder, 'inbox.sqlite'), resumed: false });
      closing.push(
        () => store.close(),
        () => fs.rmSync(folder, { recursive: true }),
      );
      return { call: async (name, take) => store.transaction(() => store.work[name](take)) };
    });
  });

  describe('in PostgreSQL', () => {
    const postgres = PostgresStand.shared();
    define(() => postgres.session());
  });
});
