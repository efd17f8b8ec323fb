import assert from 'node:assert/strict';
import type { Consumer } from '../../lib/inbox/model';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, PATIENCE } from '../support/time/patience';
import { allSettled, proven, Taker } from './samples';

const NODE = 'node';
const FORMER = ':/north';
const LATTER = ':/south';

describe('what is spilled of a webhook node whose path changes', () => {
  const FAILS = { fails: true, timeoutMs: PATIENCE };
  const stand = new SpillStand(FAILS);
  let inbox: HookedInbox;
  beforeEach(() => ({ inbox } = stand));

  const kill = (): void => {
    inbox = stand.open({ ...FAILS, folder: inbox.image() });
  };
  const arrive = async (endpointId: string): Promise<string> =>
    (await inbox.accept(proven({}, { endpointId }))).deliveryId;
  const taker = (endpointId: string, more: Partial<Consumer> = {}): Taker =>
    new Taker(inbox, { endpointId, nodeId: NODE, ...more });
  const delivered = (to: Taker, ids: readonly string[]): Promise<void> =>
    eventually(() => to.deliveries.length >= ids.length, 'the deliveries').then(() =>
      assert.deepEqual(to.deliveryIds, ids),
    );
  const worksAgain = (): Promise<void> => {
    inbox.fails = false;
    return eventually(() => inbox.state().durable === true, 'the store');
  };
  /** A node that was there and is being built anew. */
  const leave = async (endpointId: string, nodeId = NODE): Promise<void> =>
    taker(endpointId, { nodeId }).consumption.end();

  it('comes to where the node is now, while the store fails', async () => {
    await leave(FORMER);
    const ids = [await arrive(FORMER), await arrive(FORMER)];
    const after = taker(LATTER);
    await delivered(after, ids);
    assert.deepEqual([inbox.waiting(FORMER), inbox.abandoned()], [0, []]);
  });

  it('comes to where the node is now once the store works, and once', async () => {
    await leave(FORMER);
    const ids = [await arrive(FORMER), await arrive(FORMER)];
    const after = new Taker(inbox, { endpointId: LATTER, nodeId: NODE }, 'paused');
    await worksAgain();
    await eventually(
      () => inbox.store.work.openByEndpoint(undefined)[LATTER] === 2,
      'the events in the inbox',
    );
    after.consumption.resume();
    await delivered(after, ids);
    await allSettled(inbox);
    assert.deepEqual([inbox.waiting(FORMER), inbox.waiting(LATTER)], [0, 0]);
  });

  it('comes where the path was changed before the next start, too, though the store fails then', async () => {
    await leave(FORMER);
    const id = await arrive(FORMER);
    kill();
    await delivered(taker(LATTER), [id]);
  });

  it('comes to the node that had the path where two have exchanged theirs', async () => {
    await leave(FORMER, 'one');
    await leave(LATTER, 'two');
    const [first, second] = [await arrive(FORMER), await arrive(LATTER)];
    kill();
    const one = taker(LATTER, { nodeId: 'one' });
    const two = taker(FORMER, { nodeId: 'two' });
    await Promise.all([delivered(one, [first]), delivered(two, [second])]);
  });

  it('comes again where the flow has not settled it, and is settled there', async () => {
    const settled = { handledWhen: 'settled' as const };
    const before = taker(FORMER, settled);
    const id = await arrive(FORMER);
    await delivered(before, [id]);
    await before.consumption.end();
    const after = taker(LATTER, settled);
    await delivered(after, [id]);
    assert.equal(after.deliveries[0]?.again, 'restart');
    await worksAgain();
    assert.equal(await inbox.settle(id, { action: 'done' }), true);
    await allSettled(inbox);
    assert.deepEqual(after.deliveryIds, [id]);
  });

  it('is told of to the node, begin and end, wherever it is', async () => {
    const before = taker(FORMER);
    await arrive(FORMER);
    assert.deepEqual(before.spells, [{ count: 1, isOver: false }]);
    await before.consumption.end();
    const after = taker(LATTER);
    await worksAgain();
    await eventually(() => after.spells.length > 0, 'the end');
    assert.deepEqual(after.spells, [{ count: 1, isOver: true }]);
  });

  it('is counted as waiting where no node has its path, and can be assigned', async () => {
    await leave(FORMER);
    const id = await arrive(FORMER);
    const other = taker(LATTER, { nodeId: 'other' });
    assert.deepEqual([inbox.abandoned(), inbox.waiting(FORMER)], [[FORMER], 1]);
    await assert.rejects(inbox.assign(FORMER, LATTER), { code: 'STORE_FAILED' });
    await worksAgain();
    await inbox.assign(FORMER, LATTER);
    await delivered(other, [id]);
    assert.deepEqual([inbox.abandoned(), inbox.waiting(FORMER)], [[], 0]);
  });
});
