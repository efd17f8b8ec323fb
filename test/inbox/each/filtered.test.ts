import assert from 'node:assert/strict';
import type { ListQuery } from '../../../lib/inbox/model';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { allSettled, DAY, proven, Taker } from '../samples';

inEachStore('events that their webhook node does not take', (open) => {
  let inbox: TestedInbox;
  let now: number;
  beforeEach(async () => {
    now = 0;
    inbox = await open({ steady: () => now });
  });

  async function restart(): Promise<void> {
    await inbox.close();
    inbox = await open({ steady: () => now });
  }

  const filtered = (payload: Record<string, unknown> = {}): ReturnType<typeof proven> =>
    proven(payload, { filteredBy: ['sites', 'cameras'] });
  const idsIn = (rows: readonly { deliveryId: string }[]): string[] =>
    rows.map(({ deliveryId }) => deliveryId);
  const idsOf = async (state: ListQuery['state']): Promise<string[]> =>
    idsIn((await inbox.list({ state, limit: 99 })).messages);

  it('are kept, and not delivered', async () => {
    const taker = new Taker(inbox);
    const { outcome, deliveryId } = await inbox.accept(filtered());
    const other = await inbox.accept(proven());
    await allSettled(inbox);
    assert.equal(outcome, 'new');
    assert.deepEqual(idsIn(taker.deliveries), [other.deliveryId]);
    assert.deepEqual([await idsOf('filtered'), await idsOf('settled')], [[deliveryId], [other.deliveryId]]);
    assert.deepEqual([await idsOf('open'), await idsOf('dead')], [[], []]);
    assert.equal((await idsOf('all')).length, 2);
  });

  it('are known when they are sent again, also after a restart', async () => {
    const message = filtered();
    const { deliveryId } = await inbox.accept(message);
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    await restart();
    // The node takes it now; what was decided stays.
    const { filteredBy: _filteredBy, ...taken } = message;
    assert.deepEqual(await inbox.accept(taken), { outcome: 'repeat', deliveryId });
    assert.deepEqual(await idsOf('all'), [deliveryId]);
    assert.deepEqual(await idsOf('filtered'), [deliveryId]);
  });

  it('say in their history when they came, and by what they were filtered', async () => {
    const { deliveryId } = await inbox.accept(filtered());
    await restart();
    const { messages } = await inbox.list({ state: 'filtered', deliveryId, history: true, limit: 1 });
    const [row] = messages;
    const steps = row?.history?.map(({ step, reason = '' }) => `${step} ${reason}`.trim());
    assert.deepEqual(steps, ['received', 'filtered sites, cameras']);
    assert.deepEqual([row?.state, row?.canRetry, row?.reason], ['filtered', true, undefined]);
  });

  it('hold up no other event of their alarm, and are not its first', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await inbox.accept(filtered({ alarmId: 'one' }));
    await inbox.accept(proven({ alarmId: 'one' }));
    await taker.came(1);
    assert.deepEqual([taker.deliveries[0]?.first, taker.deliveries[0]?.ended], [true, false]);
  });

  it('are counted, but their alarms are not', async () => {
    await inbox.accept(filtered());
    await inbox.accept(proven());
    const tally = async (state: ListQuery['state']): Promise<unknown> => {
      const [row] = await inbox.tally({ by: 'hour', state, limit: 9 });
      return row && [row.events, row.alarms, row.filtered];
    };
    assert.deepEqual(
      [await tally('all'), await tally('filtered'), await tally('settled')],
      [[2, 1, 1], [1, 0, 1], undefined],
    );
  });

  it('are among the counts of the inbox', async () => {
    await inbox.accept(filtered());
    const { newest, dead } = await inbox.counts();
    assert.deepEqual([newest.map(({ state, count }) => [state, count]), dead], [[['filtered', 1]], 0]);
  });

  it('are delivered where somebody wants one after all, and then settled as any other', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await inbox.accept(filtered());
    assert.equal(await inbox.settle(deliveryId, { action: 'retry' }, { user: 'eva' }), true);
    await taker.came(1);
    const [delivery] = taker.deliveries;
    assert.deepEqual([delivery?.deliveryId, delivery?.attempt, delivery?.first], [deliveryId, 1, true]);
    assert.deepEqual(await idsOf('filtered'), []);
    await inbox.settle(deliveryId, { action: 'done' });
    await allSettled(inbox);
    await restart();
    assert.deepEqual(await idsOf('settled'), [deliveryId]);
    const { messages } = await inbox.list({ state: 'all', deliveryId, history: true, limit: 1 });
    // The delivery may be of the same millisecond as the wish for it.
    assert.deepEqual(messages[0]?.history?.map(({ step, by = '' }) => `${step} ${by}`.trim()).toSorted(), [
      'delivered',
      'delivered-again eva',
      'filtered',
      'received',
      'settled',
    ]);
  });

  it('stay what they are where a flow says that one is done, or rejected', async () => {
    const { deliveryId } = await inbox.accept(filtered());
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    assert.equal(await inbox.settle(deliveryId, { action: 'reject' }), true);
    assert.equal(await inbox.dismiss(deliveryId), false);
    assert.deepEqual([await idsOf('filtered'), await idsOf('dead')], [[deliveryId], []]);
  });

  it('keep what a person has found of them', async () => {
    const { deliveryId } = await inbox.accept(filtered());
    await inbox.settle(deliveryId, { action: 'done', finding: { verdict: 'false' } });
    const { messages } = await inbox.list({ state: 'filtered', limit: 1 });
    assert.equal(messages[0]?.verdict, 'false');
  });

  it('go as settled ones do: first their content, then their key', async () => {
    const message = filtered();
    const { deliveryId } = await inbox.accept(message);
    now = 3 * DAY;
    await inbox.tidy({ keys: 7 * DAY, bodies: 2 * DAY });
    const { messages } = await inbox.list({ state: 'filtered', limit: 9 });
    assert.deepEqual([idsIn(messages), messages[0]?.event], [[deliveryId], {}]);
    now = 8 * DAY;
    await inbox.tidy({ keys: 7 * DAY, bodies: 2 * DAY });
    assert.deepEqual(await idsOf('all'), []);
    assert.equal((await inbox.accept(message)).outcome, 'new');
  });

  it('are a conflict where their id is known with other content', async () => {
    await inbox.accept(proven({}, { messageId: 'known' }));
    const other = proven({ cameraName: 'Gate 9' }, { messageId: 'known', filteredBy: ['sites'] });
    assert.equal((await inbox.accept(other)).outcome, 'conflict');
    assert.deepEqual(await idsOf('filtered'), []);
  });
});
