import assert from 'node:assert/strict';
import { endOfAlarm } from '../../lib/inbox/reading/end-of-alarm';
import type { ProvenMessage } from '../../lib/message/record';
import { InlineInbox } from '../support/inbox/each-store';
import { eventually } from '../support/time/patience';
import { proven } from './samples';

const ENDED = '2026-03-04T05:10:00.0000000';
const ENDED_AT = Date.UTC(2026, 2, 4, 5, 10);
const ALARM = { station: 'north', alarmId: 'alarm-1' };

const begin = (): ProvenMessage => proven({ alarmId: ALARM.alarmId, eventEndTime: null });
const end = (): ProvenMessage => proven({ alarmId: ALARM.alarmId, eventEndTime: ENDED });

describe('the events of one alarm, beside an inbox that fails,', () => {
  let inbox: InlineInbox;
  beforeEach(async () => {
    inbox = new InlineInbox({ lookAgain: 20 });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
  });

  it('are listed', async () => {
    await inbox.accept(proven({ alarmId: 'alarm-2' }));
    inbox.fails = true;
    await inbox.accept(proven({ alarmId: 'alarm-2' }));
    const spilled = await inbox.accept(begin());
    const { messages } = await inbox.list({ state: 'all', alarm: ALARM, limit: 9 });
    assert.deepEqual(
      messages.map(({ deliveryId }) => deliveryId),
      [spilled.deliveryId],
    );
  });

  it('tell when it ended, though the inbox could not store that message', async () => {
    await inbox.accept(begin());
    inbox.fails = true;
    await inbox.accept(end());
    assert.equal(await endOfAlarm([inbox], ALARM, Date.now() - 60_000), ENDED_AT);
  });
});
