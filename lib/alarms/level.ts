import { createHash } from 'node:crypto';
import { isEnd, type RvmEvent } from '../event';
import type { JsonRecord } from '../json/json';
import type { Warning } from '../message/envelope';
import { eventFilter, judgeByFilter } from '../message/event-filter';
import { type AlarmSettings, type Grouping, groupName, UNKNOWN_GROUP } from './settings';

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

/** An event that counts towards raising its group. Times are milliseconds of a clock that only goes forward. */
export interface Counted {
  id: string;
  at: number;
}

/** The level of one group. Never changed: another takes its place. */
export interface Level {
  readonly raised: boolean;
  /** When a raised one ends. */
  readonly until: number;
  /** Of one that is not raised: the events that are held back until there are enough of them, oldest first. */
  readonly counted: readonly Counted[];
}

export const DOWN: Level = { raised: false, until: 0, counted: [] };

/** Why an event is held back. */
export type HeldReason = 'late' | 'sandbox' | 'class' | 'disarmed' | 'test' | 'count';

/** What stands around an event when it is judged. */
interface Circumstances {
  now: number;
  armed: boolean;
  onTest: boolean;
  /** Whether its alarm has raised this group before, by this event or by another; undefined where it has not. Asked only where it counts. */
  raisedBy: () => 'event' | 'other' | undefined;
}

/**
 * What an event does to its group. `again`: the event has raised it before, so the state is only said once more. `extended`: it
 * lasts longer, or is left as it is by an event that never raises.
 */
export type Judgement =
  | { outcome: 'raised' | 'again' | 'extended'; level: Level }
  | { outcome: 'held'; reason: HeldReason; level: Level };

/** The whole rule of an alarm state, without store and clocks. */
export function judgeEvent(
  level: Level,
  event: AlarmEvent,
  settings: AlarmSettings,
  around: Circumstances,
): Judgement {
  if (event.isRedelivery && around.raisedBy() === 'event') return { outcome: 'again', level };
  const reason = reasonToHold(event, settings, around);
  if (reason !== undefined) return { outcome: 'held', reason, level };
  const until = around.now + settings.hold;
  if (level.raised) return { outcome: 'extended', level: extended(level, until) };
  if (event.isEnd || around.raisedBy() !== undefined) return { outcome: 'extended', level };
  const counted = [...stillCounting(level, event, around.now - settings.within), counting(event, around.now)];
  if (counted.length >= settings.count)
    return { outcome: 'raised', level: { raised: true, until, counted: [] } };
  return { outcome: 'held', reason: 'count', level: { ...DOWN, counted } };
}

/** Those of a level that count beside this event: one that comes again is not counted twice. */
function stillCounting({ counted }: Level, event: AlarmEvent, since: number): Counted[] {
  return counted.filter(({ id, at }) => at >= since && (id !== event.id || id === ''));
}

function counting({ id }: AlarmEvent, now: number): Counted {
  return { id, at: now };
}

/** The later of two ends counts: another hold may have been set meanwhile. */
function extended(level: Level, until: number): Level {
  return until > level.until ? { ...level, until } : level;
}

function reasonToHold(
  event: AlarmEvent,
  settings: AlarmSettings,
  { armed, onTest }: Circumstances,
): HeldReason | undefined {
  if (event.age !== undefined && event.age > settings.ignoreOlder) return 'late';
  if (event.isSandbox && !settings.sandbox) return 'sandbox';
  if (!isOfClass(event, settings)) return 'class';
  if (!armed) return 'disarmed';
  return onTest ? 'test' : undefined;
}

/** As *webhook in* filters by them. */
function isOfClass({ eventClass }: AlarmEvent, { classes }: AlarmSettings): boolean {
  if (classes.length === 0) return eventClass !== 'health';
  return judgeByFilter(eventFilter({ classes }), { eventClass }).filteredBy.length === 0;
}

/** Who raised a group. */
export interface Raiser {
  /** As an `AlarmEvent` has them. */
  id: string;
  alarm: string;
}

/** One group as an instance knows it. Times are milliseconds of its clock. */
export interface Group {
  readonly name: string;
  level: Level;
  /** Who raised it last; undefined where nobody has yet. */
  raiser: Raiser | undefined;
  /** `{ webhook, event }` of the event that raised it last, as JSON: each message gets a copy of its own. */
  raised: string | undefined;
  /** Of its slot; 0: it has none. */
  version: number;
  /** Of the slot with `raised`. */
  raisedVersion: number;
  /** The life of an instance that wrote the slot last: it alone extends the level without writing it again. */
  by: string;
  /** Milliseconds by which that one may know of a later end than is known here; 0 where it is this one, or lives no more. */
  slack: number;
  /** True where the store lacks what is known here: it failed. */
  isAhead: boolean;
  /** When its state is said again. */
  repeatAt: number;
  /** Pending while an input of this group waits for the store. */
  line: Promise<unknown> | undefined;
}

export function newGroup(name: string): Group {
  return {
    name,
    level: DOWN,
    raiser: undefined,
    raised: undefined,
    version: 0,
    raisedVersion: 0,
    by: '',
    slack: 0,
    isAhead: false,
    repeatAt: Infinity,
    line: undefined,
  };
}

/** When a raised one is to be released from here. */
export function endOf({ level, isAhead, slack }: Group): number {
  if (!level.raised) return Infinity;
  return isAhead ? level.until : level.until + slack;
}
