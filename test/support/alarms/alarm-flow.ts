import { entrance, probe, watched, type FlowNode } from '../node-red/node-red';

type Message = Record<string, unknown>;

/** An event as *webhook in* sends it, as far as *alarm state* looks at it. */
export function eventMessage(changes: { webhook?: Message; event?: Message } = {}): Message {
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

/** One *alarm state* that takes what is posted to the entrance `in`, with a probe behind each output. */
export function alarmStateFlow(properties: Message = {}, ...further: FlowNode[]): FlowNode[] {
  return watched(
    ...entrance('in', 'alarms'),
    alarmState({ repeat: 0, ...properties }),
    probe('state'),
    probe('extended'),
    probe('held'),
    ...further,
  );
}
