import assert from 'node:assert/strict';
import { endOfAlarm } from '../../../lib/inbox/searches';
import type { Inbox, ListQuery } from '../../../lib/inbox/model';
import type { ProvenMessage } from '../../../lib/message/record';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

const ENDED = '2026-03-04T05:10:00.0000000';
const ENDED_AT = Date.UTC(2026, 2, 4, 5, 10);
const ALARM = { station: 'north', alarmId: 'alarm-1' };

const of = (eventEndTime: string | null, changes: Partial<ProvenMessage> = {}): ProvenMessage =>
  proven({ alarmId: ALARM.alarmId, eventEndTime }, changes);

inEachStore('the events of one alarm', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  async function idsIn(query: Partial<ListQuery> = {}): Promise<string[]> {
    const { messages } = await inbox.list({ state: 'all', alarm: ALARM, limit: 9, ...query });
    return messages.map(({ deliveryId }) => deliveryId);
  }

  it('are listed newest first, and no others', async () => {
    const first = await inbox.accept(of(null));
    await inbox.accept(proven({ alarmId: 'alarm-2' }));
    await inbox.accept(of(null, { stationKey: 'south' }));
    await inbox.accept(proven({ alarmId: null }));
    const last = await inbox.accept(of(ENDED));
    assert.deepEqual(await idsIn(), [last.deliveryId, first.deliveryId]);
  });

  it('are listed when the flow has dealt with them', async () => {
    const taker = new Taker(inbox);
    const { deliveryId } = await inbox.accept(of(null));
    await eventually(async () => (await idsIn({ state: 'settled' })).length > 0, 'the end of the event');
    assert.deepEqual([await idsIn(), taker.deliveries.length], [[deliveryId], 1]);
  });

  it('are listed from a time on, and not more than so many', async () => {
    const early = new Date(Date.now() - 60_000).toISOString();
    await inbox.accept(of(null, { receivedTime: early }));
    const { deliveryId } = await inbox.accept(of(ENDED));
    assert.deepEqual(await idsIn({ since: Date.now() - 30_000 }), [deliveryId]);
    assert.deepEqual(await idsIn({ limit: 1 }), [deliveryId]);
  });

  describe('tell when it ended', () => {
    const endOf = (...inboxes: Inbox[]): Promise<number | undefined> =>
      endOfAlarm(inboxes, ALARM, Date.now() - 60_000);

    it('which is unknown while it goes on', async () => {
      await inbox.accept(of(null));
      await inbox.accept(proven({ alarmId: 'alarm-2', eventEndTime: ENDED }));
      assert.equal(await endOf(inbox), undefined);
    });

    it('once a message says so, though the flow has not got that yet', async () => {
      await inbox.accept(of(null));
      await inbox.accept(of(ENDED));
      assert.equal(await endOf(inbox), ENDED_AT);
    });

    it('though it came to another inbox than the start', async () => {
      const other = await open({ name: 'other' });
      await inbox.accept(of(null));
      await other.accept(of(ENDED));
      assert.equal(await endOf(inbox, other), ENDED_AT);
    });

    it('or when the message came, where its time cannot be read', async () => {
      const message = of('soon');
      await inbox.accept(message);
      assert.equal(await endOf(inbox), Date.parse(message.receivedTime));
    });
  });
});
