import assert from 'node:assert/strict';
import { entrance, inject, NodeRed, probe, watched, type FlowNode } from '../support/node-red/node-red';
import { STANDING_TIME, timerStands } from '../support/node-red/node-red-time';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';

type Message = Record<string, unknown>;

/** An event as *webhook in* sends it, as far as *alarm state* looks at it. */
function event(changes: { webhook?: Message; event?: Message } = {}): Message {
  const alarmId = `alarm-${Math.random()}`;
  const content = {
    alarmId,
    eventClass: 'security',
    locationName: 'Depot',
    cameraName: 'Gate',
    ...changes.event,
  };
  const webhook = {
    station: 'north',
    deliveryId: `delivery-${Math.random()}`,
    attempt: 1,
    phase: 'start',
    ageSeconds: 1,
    sandbox: false,
    ...changes.webhook,
  };
  return { topic: 'security', payload: content, event: content, webhook };
}

function alarmState(properties: Message = {}): FlowNode {
  return {
    id: 'alarms',
    type: 'rvm-alarm-state',
    z: 'tab',
    name: 'Siren',
    x: 0,
    y: 0,
    wires: [['state'], ['extended'], ['held']],
    ...properties,
  };
}

function flow(properties: Message = {}, ...further: FlowNode[]): FlowNode[] {
  return watched(
    ...entrance('in', 'alarms'),
    alarmState({ repeat: 0, ...properties }),
    probe('state'),
    probe('extended'),
    probe('held'),
    ...further,
  );
}

for (const version of NODE_RED_VERSIONS) {
  describe(`alarm state on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    before(async () => {
      nodeRed = await NodeRed.start({ version, settings: STANDING_TIME });
    });
    let from = 0;
    let fresh = 0;
    const deploy = async (properties: Message = {}, ...further: FlowNode[]): Promise<void> => {
      fresh += 1;
      await nodeRed.deploy(flow({ key: `test-${fresh}`, ...properties }, ...further));
      from = nodeRed.seen.length;
    };
    after(() => nodeRed.stopAndRemove());

    const at = (name: string): Message[] => nodeRed.at(name, from);
    const send = async (msg: Message): Promise<void> => inject(nodeRed, 'in', msg);
    const next = async (name: string, count = 1): Promise<Message> => {
      await nodeRed.until(() => at(name).length >= count, `${count} at ${name}`);
      return at(name)[count - 1] as Message;
    };

    it('raises the group of an event, holds it, and releases it with the event that raised it', async () => {
      await deploy();
      const logged = nodeRed.log.length;
      const raising = event();
      await send({ ...raising, kept: 'as it was' });
      const raised = await next('state');
      assert.deepEqual([raised.payload, raised.topic, raised.kept], [true, 'Depot', 'as it was']);
      await timerStands(nodeRed, 30_000, logged);
      await nodeRed.advance(31);
      const released = await next('state', 2);
      assert.deepEqual([released.payload, released.topic], [false, 'Depot']);
      assert.deepEqual([released.webhook, released.event], [raising.webhook, raising.event]);
    });
  });
}
