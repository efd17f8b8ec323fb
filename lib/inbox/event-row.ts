import { isEnd } from '../event';
import type { ListedMessage, MessageState } from './inbox';

/** A message of the inbox as a flat row, ready for a table. What the event does not say is null. */
export interface EventRow {
  /** Receipt: ISO 8601, UTC, with `Z`. */
  time: string;
  site: string | null;
  camera: string | null;
  rule: string | null;
  class: string | null;
  phase: 'start' | 'end';
  state: MessageState;
  attempts: number;
  alarmId: string | null;
  messageId: string | null;
  deliveryId: string;
  /** Key of the Central Station. */
  station: string;
}

export function eventRow({ event, ...message }: ListedMessage): EventRow {
  return {
    time: message.receivedTime,
    site: textOf(event.locationName),
    camera: textOf(event.cameraName),
    rule: textOf(event.eventRuleName) ?? textOf(event.eventName),
    class: textOf(event.eventClass),
    phase: isEnd(event) ? 'end' : 'start',
    state: message.state,
    attempts: message.attempts,
    alarmId: textOf(event.alarmId),
    messageId: message.messageId,
    deliveryId: message.deliveryId,
    station: message.station,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
