import assert from 'node:assert/strict';
import { RvmError } from '../../lib/error';
import { alarmEventOf } from '../../lib/alarms/level';
import { controlOf } from '../../lib/alarms/settings';
import { Groups } from '../../lib/alarms/groups';
import { alarmEvent, Instances, SETTINGS } from '../support/alarms/instances';
import { VirtualTime } from '../support/time/virtual-time';

const HOLD = SETTINGS.hold;

async function started(...settings: ConstructorParameters<typeof Instances>): Promise<Instances> {
  const instances = new Instances(...settings);
  await instances.start();
  return instances;
}

describe('an alarm state in time', () => {
  afterEach(() => VirtualTime.restore());

  it('says a raised state again every so often, and its release once more', async () => {
    const instances = await started({ ...SETTINGS, repeat: 10_000 });
    await instances.event(alarmEvent());
    await instances.wait(HOLD);
    assert.deepEqual(instances.said, ['Depot true', 'Depot true', 'Depot true', 'Depot false']);
    await instances.wait(60_000);
    assert.deepEqual(instances.said.slice(4), ['Depot false']);
  });

  it('says every group that is kept at the start, one that is released included', async () => {
    const instances = await started();
    await instances.event(alarmEvent({ group: 'Yard' }));
    await instances.wait(HOLD);
    await instances.event(alarmEvent());
    await instances.stop();
    instances.said.length = 0;
    await instances.start();
    assert.deepEqual(instances.said.sort(), ['Depot true', 'Yard false']);
  });

  it('releases at the start what has ended while nothing ran, with the event that raised it', async () => {
    const instances = await started();
    const raising = alarmEvent();
    await instances.event(raising);
    await instances.kill();
    await instances.wait(HOLD);
    await instances.start();
    assert.deepEqual(instances.said, ['Depot false']);
    assert.match(instances.messages[0]?.json ?? '', new RegExp(raising.id));
  });

  it('raises for an event that comes again before it has raised', async () => {
    const instances = await started();
    await instances.control({ do: 'disarm' });
    const event = alarmEvent();
    assert.equal((await instances.event(event)).reason, 'disarmed');
    await instances.control({ do: 'arm' });
    const { output, raised } = await instances.event({ ...event, isRedelivery: true });
    assert.deepEqual([output, raised], ['state', true]);
  });

  it('stands with the event that raises it, also where something else was written in the place of that', async () => {
    const instances = await started();
    await instances.event(alarmEvent());
    await instances.wait(HOLD);
    const name = instances.slots.names().find((each) => each.startsWith('event/')) ?? assert.fail();
    await instances.goOn(instances.slots.putSlots('alarms:test', [{ name, value: 'of another' }]));
    const raising = alarmEvent();
    await instances.event(raising);
    await instances.kill();
    await instances.start();
    assert.match(instances.messages.at(-1)?.json ?? '', new RegExp(raising.id));
  });

  for (const [classes, eventClass, output] of [
    [['own'], 'security', 'held'],
    [['own'], ' Own', 'state'],
    [['security'], 'health', 'held'],
    // One that the specification does not have, and one that does not say of which class it is.
    [['security'], 'weather', 'state'],
    [['security'], '', 'state'],
    [[], 'health', 'held'],
    [[], 'Health', 'state'],
  ] as const)
    it(`${output === 'state' ? 'raises' : 'does not raise'} for class "${eventClass}" where ${classes.join() || 'none'} is chosen`, async () => {
      const instances = await started({ ...SETTINGS, classes: [...classes] });
      assert.equal((await instances.event(alarmEvent({ eventClass }))).output, output);
    });

  it('raises again for an alarm of a day before, and keeps nothing of it', async () => {
    const instances = await started();
    const slots = instances.slots.names().length;
    for (const alarm of ['one', 'two', 'one']) {
      const { output } = await instances.event(alarmEvent({ alarm }));
      assert.equal(output, 'state', alarm);
      await instances.wait(26 * 60 * 60 * 1000);
    }
    // The level, and the event that raised it last.
    assert.equal(instances.slots.names().filter((name) => !name.startsWith('ends/')).length, slots + 2);
  });

  it('keeps nothing of a group that was disarmed and is armed again, and of a test that is over', async () => {
    const instances = await started();
    await instances.control({ do: 'disarm', group: 'never seen' });
    await instances.control({ do: 'arm', group: 'never seen' });
    await instances.control({ do: 'test', group: 'never seen', lasts: 1000 });
    await instances.wait(2000);
    assert.deepEqual(instances.slots.names(), []);
  });

  it('ends a test with 0 minutes: of one group while the others stay on test, and of all', async () => {
    const instances = await started();
    const all = ['Depot', 'Yard'].map((each) => alarmEvent({ group: each, id: each, alarm: each }));
    const reasons = async (): Promise<unknown[]> =>
      (await instances.events(...all.map((event) => [event, 0] as const))).map(({ reason }) => reason);
    await instances.control({ do: 'test', lasts: 3_600_000 });
    await instances.control({ do: 'test', group: 'Depot', lasts: 0 });
    assert.deepEqual(await reasons(), [undefined, 'test']);
    await instances.control({ do: 'test', lasts: 0 });
    assert.deepEqual(await reasons(), [undefined, undefined]);
  });

  it('writes a thousand levels that are extended all the time together, every few seconds', async () => {
    const instances = await started();
    const all = Array.from({ length: 1000 }, (_, each) => [alarmEvent({ group: `${each}` }), 0] as const);
    const events = (): Promise<unknown> => instances.events(...all);
    await events();
    const { puts } = instances.slots;
    for (let round = 0; round < 10; round += 1) await events();
    assert.ok(instances.slots.puts - puts <= 3, `${instances.slots.puts - puts} writes in 5 s`);
  });

  it('makes an extension durable soon where somebody waits for that', async () => {
    const instances = await started();
    await instances.event(alarmEvent());
    const { puts } = instances.slots;
    const { isDurable } = await instances.event(alarmEvent());
    assert.equal(instances.slots.puts, puts);
    assert.equal(await instances.goOn(isDurable()), true);
    assert.equal(instances.slots.puts, puts + 1);
  });

  it('has written what it extended when it is closed', async () => {
    const instances = await started();
    await instances.event(alarmEvent());
    const { puts } = instances.slots;
    await instances.event(alarmEvent());
    await instances.goOn(instances.state().close());
    assert.equal(instances.slots.puts - puts, 1);
  });
});

describe('an alarm state whose inbox fails', () => {
  let instances: Instances;
  beforeEach(async () => {
    instances = await started();
  });
  afterEach(() => VirtualTime.restore());

  it('raises and releases all the same, and says that it is not durable', async () => {
    instances.slots.fails = true;
    const { output, isDurable } = await instances.event(alarmEvent());
    assert.deepEqual([output, await instances.goOn(isDurable())], ['state', false]);
    await instances.wait(HOLD);
    assert.deepEqual(instances.said, ['Depot false']);
  });

  it('writes what it did once the inbox is back, so that a restart finds it', async () => {
    instances.slots.fails = true;
    await instances.event(alarmEvent());
    await instances.control({ do: 'disarm', group: 'Yard' });
    instances.slots.fails = false;
    await instances.wait(3000);
    assert.equal(instances.state().isDurable, true);
    await instances.kill();
    await instances.start();
    assert.deepEqual(instances.said, ['Depot true']);
    assert.equal((await instances.event(alarmEvent({ group: 'Yard' }))).reason, 'disarmed');
  });

  it('says what it keeps once the inbox is there, where it failed at the start', async () => {
    await instances.event(alarmEvent());
    await instances.kill();
    instances.slots.fails = true;
    await instances.start();
    assert.deepEqual(instances.said, []);
    instances.slots.fails = false;
    await instances.wait(3000);
    assert.deepEqual(instances.said, ['Depot true']);
  });
});

describe('an alarm state that instances share', () => {
  let instances: Instances;
  beforeEach(async () => {
    instances = new Instances(SETTINGS, true);
    await instances.start(0);
    await instances.start(1);
  });
  afterEach(() => VirtualTime.restore());

  it('is not released by one while the other extends it', async () => {
    await instances.event(alarmEvent(), 0);
    for (let extended = 0; extended < 10; extended += 1) {
      await instances.wait(HOLD - 5000);
      await instances.event(alarmEvent(), 0);
    }
    assert.deepEqual(instances.said, []);
    await instances.wait(HOLD);
    assert.deepEqual(instances.said, ['Depot false']);
  });

  it('is released by the other one where the one that has extended it is killed', async () => {
    await instances.event(alarmEvent(), 0);
    await instances.wait(10_000);
    await instances.event(alarmEvent(), 0);
    await instances.wait(4000);
    await instances.kill(0);
    await instances.wait(HOLD - 6000);
    assert.deepEqual(instances.said, []);
    await instances.wait(8000);
    assert.deepEqual(instances.said, ['Depot false']);
  });
});

describe('the groups of an alarm state', () => {
  const groupOf = (event: Record<string, unknown>, by: Parameters<typeof alarmEventOf>[2]): string =>
    alarmEventOf({ station: 'north' }, event, by).group;

  it('have the name of what they are put together by, else its id', () => {
    const event = { locationName: 'Depot', cameraId: 'camera-1', eventRuleName: null, eventName: 'Person' };
    const kinds = ['site', 'camera', 'rule', 'station', 'all'] as const;
    const names = kinds.map((by) => groupOf(event, by));
    assert.deepEqual(names, ['Depot', 'camera-1', 'Person', 'north', 'all']);
  });

  it('are unknown where the event does not say, and one line whatever it says', () => {
    assert.equal(groupOf({ locationName: ' \n' }, 'site'), 'unknown');
    assert.equal(groupOf({ locationName: 'De\npot\u0000  A ' }, 'site'), 'De pot A');
    assert.equal(groupOf({ locationName: 'x'.repeat(10_000) }, 'site').length, 200);
  });

  it('are so many at most: a quiet one makes room, and where none is, they are one', () => {
    const groups = new Groups('life', () => false, 2);
    groups.keep('one').level = { raised: true, until: 1, counted: [] };
    groups.keep('two');
    assert.equal(groups.makeCapacityFor('three')?.group.name, 'two');
    groups.keep('three').level = { raised: true, until: 1, counted: [] };
    assert.equal(groups.makeCapacityFor('four'), undefined);
    assert.equal(groups.keep('four').name, 'unknown');
  });
});

describe('a control of an alarm state', () => {
  const refused = (topic: unknown, group?: unknown, minutes?: unknown): void =>
    assert.throws(
      () => controlOf(topic, group, minutes),
      (error) => error instanceof RvmError && error.code === 'BAD_INPUT',
    );

  it('is for all without a group, and for any text as one', () => {
    assert.deepEqual(controlOf('disarm', undefined, undefined), { do: 'disarm', group: '', lasts: 0 });
    assert.deepEqual(controlOf('test', 7, '1.5'), { do: 'test', group: '7', lasts: 90_000 });
  });

  it('is refused where it is none, its group is empty or no text, or a test has no length', () => {
    refused('Arm');
    refused(undefined);
    refused('disarm', '  ');
    refused('disarm', { name: 'Depot' });
    for (const minutes of [undefined, -1, NaN, 'soon', 1e9]) refused('test', 'Depot', minutes);
  });
});
