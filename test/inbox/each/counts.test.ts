import assert from 'node:assert/strict';
import type { InboxCounts } from '../../../lib/inbox/inbox-figures';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

inEachStore('the counts of an inbox', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  /** By station and state. */
  const newest = ({ newest: counts }: InboxCounts): Record<string, number> =>
    Object.fromEntries(counts.map(({ station, state, count }) => [`${station} ${state}`, count]));

  it('say of an empty inbox that there is nothing', async () => {
    assert.deepEqual(await inbox.counts(), { newest: [], dead: 0, exhausted: 0 });
  });

  it('say by station what waits, what is settled and what is dead, and when the newest of each came', async () => {
    const taker = new Taker(inbox);
    await inbox.accept(proven({}, { receivedTime: '2026-03-04T05:00:00.000Z' }));
    await eventually(async () => newest(await inbox.counts())['north delivered'] === 1, 'the settlement');
    await taker.consumption.end();
    for (const receivedTime of ['2026-03-04T06:00:00.000Z', '2026-03-04T05:30:00.000Z'])
      await inbox.accept(proven({}, { receivedTime, stationKey: 'south' }));
    await inbox.accept({ ...proven({}, { messageId: 'bad' }), kind: 'dead-letter', reason: 'not-json' });
    const counts = await inbox.counts();
    assert.deepEqual(newest(counts), { 'north delivered': 1, 'north dead': 1, 'south received': 2 });
    const south = counts.newest.find(({ station }) => station === 'south');
    assert.equal(new Date(south?.last ?? 0).toISOString(), '2026-03-04T06:00:00.000Z');
    assert.deepEqual([counts.dead, counts.exhausted], [1, 0]);
  });

  it('tell the dead letters that can be delivered again, and count none that was discarded', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled', redeliverAfter: 20, maxAttempts: 1 });
    await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    const { deliveryId } = await inbox.accept({
      ...proven({}, { messageId: 'bad' }),
      kind: 'dead-letter',
      reason: 'not-json',
    });
    const dead = async (): Promise<unknown> => {
      const counts = await inbox.counts();
      return [counts.dead, counts.exhausted];
    };
    assert.deepEqual(await dead(), [2, 1]);
    await inbox.dismiss(deliveryId);
    assert.deepEqual(await dead(), [1, 1]);
  });

  it('count no self-test, as a list shows none', async () => {
    await inbox.accept(proven({}, { kind: 'other', messageId: 'self-test-1' }));
    await inbox.accept(proven({}, { kind: 'other', messageId: 'news' }));
    assert.deepEqual(newest(await inbox.counts()), { 'north other': 1 });
  });

  it('fail where the store does', async () => {
    inbox.fails = true;
    await assert.rejects(inbox.counts(), { code: 'STORE_FAILED' });
  });
});

inEachStore('a list of messages before a time', (open) => {
  it('has those that were received earlier, the newest of them first, of whatever state is asked for', async () => {
    const inbox = await open();
    for (const hour of [5, 6, 7, 8])
      await inbox.accept(
        proven({}, { receivedTime: `2026-03-04T0${hour}:00:00.000Z`, messageId: `at ${hour}` }),
      );
    for (const state of ['all', 'open'] as const) {
      const { messages } = await inbox.list({ state, until: Date.parse('2026-03-04T08:00:00Z'), limit: 2 });
      assert.deepEqual(
        messages.map(({ messageId }) => messageId),
        ['at 7', 'at 6'],
      );
    }
  });
});
