import { node } from '../node-red/alarms-through';
import { entrance, probes, watched, type FlowNode } from '../node-red/node-red';

type Message = Record<string, unknown>;

/** An event as *webhook in* sends it, as far as *alarm state* looks at it. */
export function eventMessage(changes: { webhook?: Message; event?: Message } = {}): Message {
  const place = { locationName: 'Depot', cameraName: 'Gate' };
  const content = { alarmId: `alarm-${Math.random()}`, eventClass: 'security', ...place, ...changes.event };
  const delivery = { station: 'north', deliveryId: `delivery-${Math.random()}`, attempt: 1 };
  const webhook = { ...delivery, phase: 'start', ageSeconds: 1, sandbox: false, ...changes.webhook };
  return { topic: 'security', payload: content, event: content, webhook };
}

/** One *alarm state* that takes what is posted to the entrance `in`, with a probe behind each output. */
export function alarmStateFlow(properties: Message = {}, ...further: FlowNode[]): FlowNode[] {
  const wires = [['state'], ['extended'], ['held']];
  return watched(
    ...entrance('in', 'alarms'),
    node('rvm-alarm-state', { id: 'alarms', name: 'Siren', wires, repeat: 0, ...properties }),
    ...probes('state', 'extended', 'held'),
    ...further,
  );
}
