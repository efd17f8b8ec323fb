import assert from 'node:assert/strict';
import type { InboxCounts } from '../../../lib/inbox/model';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

const HERE = ':/here';
const THERE = ':/there';

inEachStore('the counts and figures of an inbox', (open) => {
  let ahead: number;
  let inbox: TestedInbox;
  beforeEach(async () => {
    ahead = 0;
    inbox = await open({ steady: () => performance.now() + ahead });
  });

  const arrive = (endpointId: string, eventClass = 'security'): Promise<unknown> =>
    inbox.accept(proven({ eventClass }, { endpointId }));

  /** Whole minutes that the oldest has waited, by endpoint. */
  async function minutes(): Promise<Record<string, number>> {
    const oldest = Object.entries((await inbox.figures()).oldest);
    return Object.fromEntries(oldest.map(([endpoint, ms]) => [endpoint, Math.floor(ms / 60_000)]));
  }
  const deadLetter = async (stationKey = 'north'): Promise<string> => {
    const message = proven({}, { stationKey, messageId: 'bad' });
    return (await inbox.accept({ ...message, kind: 'dead-letter', reason: 'not-json' })).deliveryId;
  };

  /** By station and state. */
  const newest = ({ newest: counts }: InboxCounts): Record<string, number> =>
    Object.fromEntries(counts.map(({ station, state, count }) => [`${station} ${state}`, count]));

  it('say of an empty inbox that there is nothing', async () => {
    assert.deepEqual(await inbox.counts(), { newest: [], dead: 0, exhausted: 0 });
    const { oldest, dead } = await inbox.figures();
    assert.deepEqual([oldest, dead], [{}, {}]);
  });

  it('say by station what waits, what is settled and what is dead, and when the newest of each came', async () => {
    const taker = new Taker(inbox);
    await inbox.accept(proven({}, { receivedTime: '2026-03-04T05:00:00.000Z' }));
    await eventually(async () => newest(await inbox.counts())['north delivered'] === 1, 'the settlement');
    await taker.consumption.end();
    for (const receivedTime of ['2026-03-04T06:00:00.000Z', '2026-03-04T05:30:00.000Z'])
      await inbox.accept(proven({}, { receivedTime, stationKey: 'south' }));
    await deadLetter();
    const counts = await inbox.counts();
    assert.deepEqual(newest(counts), { 'north delivered': 1, 'north dead': 1, 'south received': 2 });
    const south = counts.newest.find(({ station }) => station === 'south');
    assert.equal(new Date(south?.last ?? 0).toISOString(), '2026-03-04T06:00:00.000Z');
    assert.deepEqual([counts.dead, counts.exhausted], [1, 0]);
  });

  it('tell the dead letters that can be delivered again, and of each station, and none that was discarded', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled', redeliverAfter: 20, maxAttempts: 1 });
    await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    const deliveryId = await deadLetter('south');
    const dead = async (): Promise<unknown> => {
      const counts = await inbox.counts();
      return [counts.dead, counts.exhausted, (await inbox.figures()).dead];
    };
    assert.deepEqual(await dead(), [2, 1, { north: 1, south: 1 }]);
    await inbox.dismiss(deliveryId);
    assert.deepEqual(await dead(), [1, 1, { north: 1 }]);
  });

  it('say how long the oldest event of each endpoint has waited, health among them', async () => {
    await arrive(HERE, 'health');
    ahead += 60_000;
    await arrive(HERE);
    await arrive(THERE);
    ahead += 60_000;
    assert.deepEqual(await minutes(), { [HERE]: 2, [THERE]: 1 });
  });

  it('say nothing any more of an event that has left', async () => {
    await arrive(HERE);
    assert.deepEqual(await minutes(), { [HERE]: 0 });
    const taker = new Taker(inbox, { endpointId: HERE });
    await taker.came(1);
    assert.deepEqual(await minutes(), {});
  });

  it('count no self-test, as a list shows none, and what else is no event', async () => {
    for (const messageId of ['self-test-1', 'self-test-scheduled-2', 'news'])
      await inbox.accept(proven({}, { kind: 'other', messageId }));
    assert.deepEqual(newest(await inbox.counts()), { 'north other': 1 });
    const { messages } = await inbox.list({ state: 'all', limit: 10 });
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      ['news'],
    );
  });

  it('fail where the store does', async () => {
    inbox.fails = true;
    await assert.rejects(inbox.counts(), { code: 'STORE_FAILED' });
    await assert.rejects(inbox.figures(), { code: 'STORE_FAILED' });
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
