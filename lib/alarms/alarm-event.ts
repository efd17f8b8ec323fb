import { createHash } from 'node:crypto';
import { type RvmEvent, isEnd } from '../event';
import type { JsonRecord } from '../json/json';
import type { Warning } from '../message/envelope';
import type { Grouping } from './alarm-settings';
import { groupName, UNKNOWN_GROUP } from './group-name';

const UNCONFIRMED: Warning = 'clock-unconfirmed';
/** Characters of an id; of a longer one a digest stands for it, for it is kept with its group. */
const LONGEST_ID = 200;

/** What an alarm state has to know of an event. */
export interface AlarmEvent {
  group: string;
  /** The same over all its deliveries; empty where nothing tells it from others. */
  id: string;
  /** The same for all events of its alarm; empty as `id`. */
  alarm: string;
  isEnd: boolean;
  isRedelivery: boolean;
  isSandbox: boolean;
  eventClass: string;
  /** Seconds; undefined where the event does not say when it was, and where nothing has confirmed the clock by which it is old. */
  age: number | undefined;
}

/** @param webhook `msg.webhook` as *webhook in* made it: a flow may have left out any of it */
export function alarmEventOf(webhook: JsonRecord, event: RvmEvent, grouping: Grouping): AlarmEvent {
  const station = textOf(webhook.station);
  const id = shortened(textOf(webhook.deliveryId) || within(station, textOf(webhook.messageId)));
  const { attempt, phase, ageSeconds, warnings } = webhook;
  const isDoubtful = Array.isArray(warnings) && warnings.includes(UNCONFIRMED);
  return {
    group: groupOf(station, event, grouping),
    id,
    alarm: shortened(within(station, textOf(event.alarmId))) || id,
    isEnd: phase === 'end' || (phase !== 'start' && isEnd(event)),
    isRedelivery: typeof attempt === 'number' && attempt > 1,
    isSandbox: webhook.sandbox === true,
    eventClass: textOf(event.eventClass),
    age: typeof ageSeconds === 'number' && !isDoubtful ? ageSeconds : undefined,
  };
}

/** Names, for people read them on panels; an id where there is no name. */
function groupOf(station: string, event: RvmEvent, grouping: Grouping): string {
  switch (grouping) {
    case 'site':
      return named(event.locationName, event.locationId);
    case 'camera':
      return named(event.cameraName, event.cameraId, event.cameraRemoteId);
    case 'rule':
      return named(event.eventRuleName, event.eventName);
    case 'station':
      return groupName(station);
    case 'all':
      return 'all';
    default:
      return grouping satisfies never;
  }
}

function named(...names: unknown[]): string {
  for (const name of names) {
    const group = groupName(textOf(name));
    if (group !== UNKNOWN_GROUP) return group;
  }
  return UNKNOWN_GROUP;
}

/** Ids of two stations may be alike. */
function within(station: string, id: string): string {
  return id === '' ? '' : `${station} ${id}`;
}

function shortened(id: string): string {
  return id.length <= LONGEST_ID ? id : createHash('sha256').update(id).digest('base64url');
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : '';
}
