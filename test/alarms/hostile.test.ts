import assert from 'node:assert/strict';
import { alarmEventOf, type AlarmEvent } from '../../lib/alarms/level';
import { alarmEvent, Instances } from '../support/alarms/instances';
import { VirtualTime } from '../support/time/virtual-time';
import { raisedJson } from '../../nodes/rvm-alarm-state/alarm-node';

const MEGABYTE = 1_000_000;

describe('events of an alarm state with all that a hostile service may write', () => {
  afterEach(() => VirtualTime.restore());

  const webhook = { station: 'yard', deliveryId: 'one' };
  const read = (alarmId: string): AlarmEvent => alarmEventOf(webhook, { alarmId }, 'site');

  it('are of one alarm however long its id is, which is kept short', () => {
    const long = 'x'.repeat(MEGABYTE);
    assert.equal(read(long).alarm, read(long).alarm);
    assert.notEqual(read(long).alarm, read(`${long}y`).alarm);
    assert.ok(read(long).alarm.length <= 200);
  });

  it('travel with their state whole while there are few groups, and in all hold no more memory than so much', async () => {
    const instances = new Instances();
    await instances.start();
    let held = 0;
    const raised = Array.from({ length: 10_000 }, async (_, index) =>
      instances.state().event(alarmEvent({ group: `group ${index}` }), (most) => {
        if (index < 20) assert.equal(most, 400_000);
        held += most;
        return '{}';
      }),
    );
    await instances.goOn(Promise.all(raised));
    assert.ok(held > 0 && held < 200 * MEGABYTE, `${held} characters`);
  });

  const long = 'x'.repeat(1000);
  for (const [what, facts, event] of [
    ['the event is', { deliveryId: 'one' }, { alarmId: long }],
    ['what came with it is', { ...webhook, logCorrelationId: long }, {}],
  ] as const)
    it(`can still be settled where ${what} too large to be kept`, () => {
      const kept = { webhook: { deliveryId: 'one' }, event: {} };
      assert.deepEqual(JSON.parse(raisedJson(facts, event, 500) ?? ''), kept);
    });
});
