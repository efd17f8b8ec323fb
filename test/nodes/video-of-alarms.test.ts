import assert from 'node:assert/strict';
import type { RvmEvent } from '../../lib/event';
import { factsOf, node } from '../support/node-red/alarms-through';
import { look, inboxesOpen } from '../support/node-red/inboxes-open';
import { PATH, webhookIn, bytesOf } from '../support/node-red/flows';
import { probes, type FlowNode } from '../support/node-red/node-red';
import {
  caller,
  describeWith,
  enteredBy,
  type Message,
  clipIn,
  LONG_AGO,
  VideoFlow,
} from '../support/node-red/station-flow';
import { eventually } from '../support/time/patience';

const eventOf = (msg: Message): RvmEvent => (msg.event ?? msg.payload) as RvmEvent;

const OPTIONS = { versions: ['5'], programs: ['ffmpeg'] } as const;
describeWith(VideoFlow, 'video of alarms that came by webhook', OPTIONS, (flow) => {
  before(async () => {
    const url = `${flow.station.nodeRed.url}${PATH}`;
    flow.station.sandbox.setEndpoint('one', { station: 'north', url: () => url });
    await deploy(getClip());
    await inboxesOpen(flow.station.nodeRed);
  });

  function getClip(properties: Message = {}): FlowNode {
    return caller('rvm-get-clip', { mode: 'event', preRoll: 1, seconds: 1, ...properties });
  }

  /** A node that gets what comes by webhook, and alone what goes in. */
  async function deploy(user: FlowNode, webhook: Message = {}): Promise<void> {
    const nodes = [
      user,
      webhookIn({ wires: [['alarms', user.id], [], ['problems']], ...webhook }),
      node('rvm-settle', { action: 'done' }),
      ...probes('alarms', 'problems'),
    ];
    await flow.station.deployFlows(enteredBy(flow.flows(nodes), user.id));
  }

  /** Raises an alarm that goes on for so many seconds; its first message at a probe. */
  async function raise(seconds: number, at: 'alarms' | 'result' = 'result'): Promise<Message> {
    const { alarmId } = flow.station.sandbox.raiseAlarm({ camera: flow.camera.id, seconds });
    return flow.station.nodeRed.message(at, (msg) => eventOf(msg).alarmId === alarmId);
  }

  const timeOf = (text: unknown): number => Date.parse(`${String(text).slice(0, 23)}Z`);

  it('begins before the alarm, by the pre-roll', async () => {
    await deploy(getClip());
    const msg = await raise(600);
    const { from, seconds, partial } = clipIn(msg);
    assert.equal(Date.parse(from), timeOf(eventOf(msg).eventStartTime) - 1000);
    assert.ok(seconds >= 1.5 && seconds <= 2.5, `${seconds} s`);
    assert.equal(partial, false);
  });

  it('goes on to the end of the alarm, which comes by a message of its own, and beyond it', async () => {
    await deploy(getClip({ untilEnd: true }));
    const msg = await raise(4);
    const { to, partial, reason } = clipIn(msg);
    const { alarmId } = eventOf(msg);
    const isEnd = (seen: Message) => eventOf(seen).alarmId === alarmId && Boolean(eventOf(seen).eventEndTime);
    const end = await flow.station.nodeRed.message('alarms', isEnd);
    const endedAt = timeOf(eventOf(end).eventEndTime);
    assert.ok(Math.abs(Date.parse(to) - endedAt - 1000) <= 1000, `${to}, ended ${eventOf(end).eventEndTime}`);
    assert.deepEqual([partial, reason], [false, undefined]);
  });

  it('ends where it is as long as it may be, where the alarm goes on', async () => {
    await deploy(getClip({ untilEnd: true, maxSeconds: 3 }));
    const { seconds, partial } = clipIn(await raise(600));
    assert.ok(seconds >= 2.5 && seconds <= 3.5, `${seconds} s`);
    assert.equal(partial, false);
  });

  it('cannot go on to the end of an alarm that came by no webhook: nothing is opened', async () => {
    await deploy(getClip({ untilEnd: true }));
    const opened = await flow.openedBy(async () => {
      assert.equal(await flow.station.code({ event: flow.event() }), 'BAD_INPUT');
    });
    assert.equal(opened, 0);
  });

  it('holds its event while it is made, however short the lease is, and no longer', async () => {
    await deploy(getClip({ seconds: 4 }), { handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 5 });
    const msg = await raise(600);
    const { deliveryId } = factsOf(msg);
    const deliveries = (): number =>
      flow.station.nodeRed.at('alarms').filter((seen) => factsOf(seen).deliveryId === deliveryId).length;
    assert.equal(deliveries(), 1);
    await eventually(() => deliveries() === 2, 'the event to come again, for nothing settled it');
  });

  it('shows beside its event, as the picture that is nearest to the alarm', async () => {
    await deploy(caller('rvm-get-picture', { mode: 'event', offsets: '-1,0.2' }));
    const msg = await raise(600);
    const [, picture] = msg.pictures as { jpeg: unknown }[];
    const { body } = await look(flow.station.nodeRed, `picture?deliveryId=${factsOf(msg).deliveryId}`);
    assert.equal(body.jpeg, bytesOf(picture?.jpeg).toString('base64'));
  });

  it('is that of the event in the message, though its payload was replaced', async () => {
    await deploy(getClip({ preRoll: 0 }));
    const msg = await flow.station.through({ payload: 'mine', event: flow.event() });
    assert.equal(clipIn(msg).from, new Date(LONG_AGO).toISOString());
  });
});
