import { createHash } from 'node:crypto';
import { isEnd, type RvmEvent } from '../event';
import type { JsonRecord } from '../json/json';
import type { Warning } from '../message/envelope';
import { eventFilter, judgeByFilter } from '../message/event-filter';
import { type AlarmSettings, type Grouping, groupName, UNKNOWN_GROUP } from './settings';

const UNCONFIRMED: Warning = 'clock-unconfirmed';
/** Characters of an id. A longer one is replaced by its digest, because ids are stored with the group. */
const LONGEST_ID = 200;

/** The properties of an event that an alarm state uses. */
export interface AlarmEvent {
  group: string;
  /** Equal in all deliveries of the event; empty where the event has no identity. */
  id: string;
  /** Equal for all events of the alarm; may be empty like `id`. */
  alarm: string;
  isEnd: boolean;
  isRedelivery: boolean;
  isSandbox: boolean;
  eventClass: string;
  /** Seconds; undefined where the event has no time, or where its clock is unconfirmed. */
  age: number | undefined;
}

/** @param webhook `msg.webhook` of *webhook in*; a flow may have removed any property */
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

/** Names, because people read groups on panels; an id where there is no name. */
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

/** Ids are unique only within a station. */
function within(station: string, id: string): string {
  return id === '' ? '' : `${station} ${id}`;
}

function shortened(id: string): string {
  return id.length <= LONGEST_ID ? id : createHash('sha256').update(id).digest('base64url');
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : '';
}

/** An event that counts towards raising its group. Times are milliseconds of the monotonic clock. */
export interface Counted {
  id: string;
  at: number;
}

/** The level of one group. Immutable. */
export interface Level {
  readonly raised: boolean;
  /** When a raised level ends. */
  readonly until: number;
  /** Of a level that is not raised: the events counted so far, oldest first. */
  readonly counted: readonly Counted[];
}

export const DOWN: Level = { raised: false, until: 0, counted: [] };

/** Why an event is held back. */
export type HeldReason = 'late' | 'sandbox' | 'class' | 'disarmed' | 'test' | 'count';

/** The state of the group's surroundings when an event is judged. */
interface Circumstances {
  now: number;
  armed: boolean;
  onTest: boolean;
  /**
   * Whether the alarm has raised this group before, by this event or by another; undefined where it has not. Called only where
   * it matters.
   */
  raisedBy: () => 'event' | 'other' | undefined;
}

/**
 * The effect of an event on its group. `again`: the event has raised the group before, so the state is only reported again.
 * `extended`: the level lasts longer, or stays unchanged because the event never raises.
 */
export type Judgement =
  | { outcome: 'raised' | 'again' | 'extended'; level: Level }
  | { outcome: 'held'; reason: HeldReason; level: Level };

/** The complete rule of an alarm state, without store and clocks. */
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

/** Earlier events that still count; a redelivered event is not counted twice. */
function stillCounting({ counted }: Level, event: AlarmEvent, since: number): Counted[] {
  return counted.filter(({ id, at }) => at >= since && (id !== event.id || id === ''));
}

function counting({ id }: AlarmEvent, now: number): Counted {
  return { id, at: now };
}

/** The later of two ends wins: the hold may have been changed meanwhile. */
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

/** The event and alarm that raised a group. */
export interface Raiser {
  /** Id as in `AlarmEvent`. */
  id: string;
  alarm: string;
}

/** One group as an instance knows it. Times are milliseconds of its monotonic clock. */
export interface Group {
  readonly name: string;
  level: Level;
  /** What raised it last; undefined where it was never raised. */
  raiser: Raiser | undefined;
  /** `{ webhook, event }` of the event that raised it last, as JSON: each message gets its own copy. */
  raised: string | undefined;
  /** Version of its slot; 0 = no slot. */
  version: number;
  /** Version of the slot with `raised`. */
  raisedVersion: number;
  /** Id of the run that wrote the slot last: only that run extends the level without writing the slot. */
  by: string;
  /** Milliseconds by which the run `by` may know a later end than this instance; 0 where `by` is this run, or has ended. */
  slack: number;
  /** True where the store failed and lacks the state known here. */
  isAhead: boolean;
  /** When its state is reported again. */
  repeatAt: number;
  /** Pending while an input of this group waits for the store; later inputs queue behind it. */
  queue: Promise<unknown> | undefined;
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
    queue: undefined,
  };
}

/** When this instance releases a raised group. */
export function endOf({ level, isAhead, slack }: Group): number {
  if (!level.raised) return Infinity;
  return isAhead ? level.until : level.until + slack;
}
