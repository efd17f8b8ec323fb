import assert from 'node:assert/strict';
import type { Consumer } from '../../../lib/inbox/model';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { allSettled, proven, Taker } from '../samples';

type Place = Pick<Consumer, 'endpointId' | 'nodeId'>;

const NODE = 'node';
const FORMER = ':/north';
const LATTER = ':/south';

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

  it('what waits where a node was comes to where it is now', async () => {
    await former(FORMER);
    const ids = [await arrive(FORMER), await arrive(FORMER)];
    await delivered(taker(LATTER), ids);
    await nothingWaits();
  });

  it('what waits under the id of the node comes along', async () => {
    const id = await arrive(NODE);
    await delivered(taker(LATTER), [id]);
  });

  it('what waits at an endpoint that another node has stays there', async () => {
    const id = await arrive(FORMER);
    const other = taker(FORMER, 'other');
    const own = taker(LATTER);
    await delivered(other, [id]);
    assert.deepEqual(own.deliveries, []);
  });

  it('what no node takes is told by endpoint, and can be given to another', async () => {
    const ids = [await arrive(FORMER), await arrive(FORMER)];
    const to = taker(LATTER);
    assert.deepEqual(await inbox.openByEndpoint(), { [FORMER]: 2 });
    assert.deepEqual(inbox.abandoned(), [FORMER]);
    assert.equal(await inbox.assign(FORMER, LATTER), 2);
    await delivered(to, ids);
    await nothingWaits();
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
    const settled = { handledWhen: 'settled' as const };
    const before = new Taker(inbox, { endpointId: FORMER, nodeId: NODE, ...settled });
    const id = await arrive(FORMER);
    await delivered(before, [id]);
    await before.consumption.end();
    const after = new Taker(inbox, { endpointId: LATTER, nodeId: NODE, ...settled });
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
    inbox.quarantine({ endpointId: FORMER, receivedTime: '', authorization: [], body: new Uint8Array(1) });
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

  it('a node that is imported anew gets what waits at its path', async () => {
    await former(FORMER);
    const id = await arrive(FORMER);
    await delivered(taker(FORMER, 'imported'), [id]);
  });

  it('what waits at the path of a node that is gone for good goes along with the next that had it', async () => {
    await taker(FORMER, 'gone').consumption.end(true);
    await former(FORMER, 'next');
    const id = await arrive(FORMER);
    await delivered(taker(LATTER, 'next'), [id]);
  });

  it('knows a message by its station and its id', async () => {
    const message = proven({}, { messageId: 'one' });
    assert.equal(await inbox.isKnown('north', 'one'), false);
    await inbox.accept(message);
    assert.equal(await inbox.isKnown('north', 'one'), true);
    assert.equal(await inbox.isKnown('south', 'one'), false);
  });
});
