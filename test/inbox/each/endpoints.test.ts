import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Consumer } from '../../../lib/inbox/inbox';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { allSettled, proven, Taker } from '../samples';

type Place = Pick<Consumer, 'endpointId' | 'nodeId'>;

const NODE = 'node';
const FORMER = ':/north';
const LATTER = ':/south';
const SETTLED = { handledWhen: 'settled' } as const;

/** What happens one after the other, as `node at endpoint: so many come to it`, `event at endpoint` and so on; and what is there then. */
const CASES: [title: string, deeds: string, open: Record<string, number>, quarantined?: string[]][] = [
  [
    'has again what it had, and then what waits where it is now, too',
    'one at N: 0; event at N; event at N; event at S; one at N: 2; one at S: 3',
    { S: 3 },
  ],
  [
    'takes along what it had where it was: what its flow has, and what nothing proved',
    'one at N; event at N; event at N; unproven at N; one at S: 2',
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
  [
    'gets all of its path where it is imported anew',
    'one at N; event at N; one ends; imported at N: 1',
    { N: 1 },
  ],
  [
    'hands its path on to one of its former places, and on from there, without a loss',
    'one at N; two at S; event at N; event at S; two at 8443:/east; one at S',
    { '8443:/east': 1, S: 1 },
  ],
  [
    'takes along what waits where a node that is gone for good was before it',
    'gone at N; gone gone; next at N; next ends; event at N; next at S: 1',
    { S: 1 },
  ],
];

inEachStore('the endpoints of an inbox', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  const taker = (endpointId: string, nodeId = NODE): Taker => new Taker(inbox, { endpointId, nodeId });
  /** One that was there, and has gone. */
  const former = (endpointId: string, nodeId = NODE): Promise<void> =>
    taker(endpointId, nodeId).consumption.end();
  const arrive = async (endpointId: string): Promise<string> => {
    const { deliveryId } = await inbox.accept(proven({}, { endpointId }));
    return deliveryId;
  };
  /** As the nodes are built in a deploy: none of them gets anything before all are there. */
  const paused = (place: Place): Taker => new Taker(inbox, place, 'paused');
  const deployed = (...places: Place[]): Taker[] => {
    const takers = places.map(paused);
    for (const { consumption } of takers) consumption.resume();
    return takers;
  };
  const delivered = (to: Taker, ids: readonly string[]): Promise<void> =>
    eventually(
      () =>
        to.deliveries.length === ids.length && to.deliveries.every((each, i) => each.deliveryId === ids[i]),
      'the deliveries',
    );

  const nothingWaits = (): Promise<void> =>
    eventually(
      () => inbox.waiting(FORMER) + inbox.waiting(LATTER) === 0 && inbox.abandoned().length === 0,
      'the count of nothing',
    );

  const quarantine = (endpointId: string): void =>
    inbox.quarantine({ endpointId, receivedTime: '', authorization: [], body: new Uint8Array(1) });
  const quarantined = async (): Promise<string[]> =>
    (await inbox.quarantineSums()).map(({ endpointId }) => endpointId);
  /** One that no flow has settled in time. */
  async function deadLetter(): Promise<string> {
    const terms = { ...SETTLED, redeliverAfter: 1, maxAttempts: 1 };
    const before = new Taker(inbox, { endpointId: FORMER, nodeId: NODE, ...terms });
    const id = await arrive(FORMER);
    await eventually(() => before.dead.length === 1, 'the dead letter');
    await before.consumption.end();
    return id;
  }

  describe('a node', () => {
    const takers = new Map<string, Taker>();
    beforeEach(() => takers.clear());

    async function does(deed: string): Promise<void> {
      const [, what = '', how = '', place = '', count] =
        /^(\w+) (gone|ends|at (\S+?)(?:: (\d+))?)$/.exec(deed) ?? [];
      if (what === 'event') await arrive(place);
      else if (what === 'unproven') {
        quarantine(place);
        await eventually(async () => (await quarantined()).includes(place), 'it to be stored');
      } else await takers.get(what)?.consumption.end(how === 'gone');
      if (place === '' || what === 'event' || what === 'unproven') return;
      const to = new Taker(inbox, { endpointId: place, nodeId: what, ...SETTLED });
      takers.set(what, to);
      if (count !== undefined) await to.came(Number(count));
    }

    for (const [title, deeds, left, unproven = []] of CASES)
      it(title, async () => {
        for (const deed of deeds.split('; ')) await does(deed);
        const there = async () => [await inbox.openByEndpoint(), await quarantined()];
        const isAsExpected = async () => isDeepStrictEqual(await there(), [left, unproven]);
        await eventually(isAsExpected, JSON.stringify([left, unproven]));
      });

    it('has a dead letter come again where it is now', async () => {
      const id = await deadLetter();
      const after = taker(LATTER);
      assert.equal(await inbox.settle(id, { action: 'retry' }), true);
      await delivered(after, [id]);
    });

    it('has the events of an alarm in order, wherever each of them came', async () => {
      await former(FORMER);
      const accept = async (endpointId: string) =>
        (await inbox.accept(proven({ alarmId: 'fence' }, { endpointId }))).deliveryId;
      const ids = [await accept(FORMER), await accept(LATTER)];
      const after = new Taker(inbox, { endpointId: LATTER, nodeId: NODE, ...SETTLED });
      for (const [index, id] of ids.entries()) {
        await delivered(after, ids.slice(0, index + 1));
        assert.equal(await inbox.settle(id, { action: 'done' }), true);
      }
      await nothingWaits();
    });
  });

  it('what no node takes is told by endpoint, and can be given to another: events, dead letters, and what nothing proved', async () => {
    const dead = await deadLetter();
    await taker(FORMER).consumption.end(true);
    const ids = [await arrive(FORMER), await arrive(FORMER)];
    quarantine(FORMER);
    const to = taker(LATTER, 'other');
    assert.deepEqual(await inbox.openByEndpoint(), { [FORMER]: 2 });
    assert.deepEqual(inbox.abandoned(), [FORMER]);
    assert.equal(await inbox.assign(FORMER, LATTER), 2);
    await delivered(to, ids);
    await nothingWaits();
    assert.deepEqual(await quarantined(), [LATTER]);
    assert.equal(await inbox.settle(dead, { action: 'retry' }), true);
    await delivered(to, [...ids, dead]);
  });

  it('a store that fails is told of the node once it works', async () => {
    await former(FORMER);
    const id = await arrive(FORMER);
    inbox.fails = true;
    const after = taker(LATTER);
    await assert.rejects(inbox.openByEndpoint(), { code: 'STORE_FAILED' });
    assert.deepEqual(after.deliveries, []);
    inbox.fails = false;
    await delivered(after, [id]);
  });

  it('two nodes that exchange their paths take along what each had', async () => {
    await Promise.all([former(FORMER, 'one'), former(LATTER, 'two')]);
    const ids = [await arrive(FORMER), await arrive(FORMER), await arrive(LATTER)];
    const [first, second] = deployed(
      { endpointId: LATTER, nodeId: 'one' },
      { endpointId: FORMER, nodeId: 'two' },
    );
    await delivered(first ?? assert.fail(), ids.slice(0, 2));
    await delivered(second ?? assert.fail(), ids.slice(2));
    await nothingWaits();
  });

  for (const order of ['first', 'last'] as const) {
    it(`a node that gets the path of another takes along its own, built ${order}`, async () => {
      await Promise.all([former(FORMER, 'one'), former(LATTER, 'two')]);
      const ids = { one: await arrive(FORMER), two: await arrive(LATTER) };
      const nodes = [
        { endpointId: LATTER, nodeId: 'one' as const },
        { endpointId: ':/east', nodeId: 'two' as const },
      ];
      if (order === 'last') nodes.reverse();
      const takers = deployed(...nodes);
      for (const [index, { nodeId }] of nodes.entries())
        await delivered(takers[index] ?? assert.fail(), [ids[nodeId]]);
    });
  }

  it('what comes in before all nodes are there waits for them', async () => {
    await former(FORMER);
    const first = await arrive(FORMER);
    const after = paused({ endpointId: LATTER, nodeId: NODE });
    const second = await arrive(LATTER);
    assert.deepEqual(after.deliveries, []);
    after.consumption.resume();
    await delivered(after, [first, second]);
  });

  it('what the flow has comes again where its node is now, and is settled there', async () => {
    const before = new Taker(inbox, { endpointId: FORMER, nodeId: NODE, ...SETTLED });
    const id = await arrive(FORMER);
    await delivered(before, [id]);
    await before.consumption.end();
    const after = new Taker(inbox, { endpointId: LATTER, nodeId: NODE, ...SETTLED });
    await delivered(after, [id]);
    assert.equal(after.deliveries[0]?.again, 'restart');
    assert.equal(await inbox.settle(id, { action: 'done' }), true);
    await allSettled(inbox);
    assert.deepEqual([before.deliveries.length, after.deliveries.length], [1, 1]);
  });

  it('what could not be given back before the path was changed comes all the same', async () => {
    const before = new Taker(inbox, { endpointId: FORMER, nodeId: NODE, handledWhen: 'settled' });
    const id = await arrive(FORMER);
    await delivered(before, [id]);
    inbox.fails = true;
    await before.consumption.end();
    inbox.fails = false;
    await delivered(taker(LATTER), [id]);
  });

  it('what is still on its way to a former path goes where its node is now', async () => {
    await former(FORMER);
    const after = taker(LATTER);
    await delivered(after, [await arrive(FORMER)]);
    quarantine(FORMER);
    const [sum, ...others] = await inbox.quarantineSums();
    assert.deepEqual([sum?.endpointId, sum?.count, others], [LATTER, 1, []]);
  });

  it('what is on its way to a path goes to the node that has it now', async () => {
    await former(FORMER);
    const own = taker(LATTER);
    const other = taker(FORMER, 'other');
    await delivered(other, [await arrive(FORMER)]);
    assert.deepEqual(own.deliveries, []);
  });

  it('knows a message by its station and its id', async () => {
    const message = proven({}, { messageId: 'one' });
    assert.equal(await inbox.isKnown('north', 'one'), false);
    await inbox.accept(message);
    assert.equal(await inbox.isKnown('north', 'one'), true);
    assert.equal(await inbox.isKnown('south', 'one'), false);
  });
});
