import type { NodeMessage } from 'node-red';
import type { Said } from '../../lib/alarms/levels';
import { isRecord, type JsonRecord } from '../../lib/json/json';

type FlowMessage = NodeMessage & Record<string, unknown>;

/** The event in a message of *webhook in*: its copy survives nodes that replace the payload. */
export function eventIn(msg: FlowMessage): JsonRecord {
  if (isRecord(msg.event)) return msg.event;
  return isRecord(msg.payload) && !Buffer.isBuffer(msg.payload) ? msg.payload : {};
}

/**
 * What travels with the state that an event has raised; undefined where it is no JSON.
 * @param most characters: beyond it the state travels without its event, beyond that with nothing but what settles it
 */
export function raisedJson(webhook: JsonRecord, event: JsonRecord, most: number): string | undefined {
  try {
    return [
      { webhook, event },
      { webhook, event: {} },
      { webhook: { deliveryId: webhook['deliveryId'] }, event: {} },
    ]
      .map((facts) => JSON.stringify(facts))
      .find((json) => json.length <= most);
  } catch {
    return undefined;
  }
}

/** The message of an event becomes that of a state; what else it holds stays. */
export function becomeState(msg: FlowMessage, group: string, raised: boolean): void {
  msg.event = eventIn(msg);
  msg.payload = raised;
  msg.topic = group;
}

/** A state that no message asked for, with `webhook` and `event` of the event that raised it. */
export function stateMessage({ group, raised, json }: Said): NodeMessage {
  const facts: unknown = json === undefined ? {} : JSON.parse(json);
  const { webhook, event } = isRecord(facts) ? facts : {};
  const message: FlowMessage = { payload: raised, topic: group };
  if (isRecord(webhook)) message.webhook = webhook;
  if (isRecord(event)) message.event = event;
  return message;
}
