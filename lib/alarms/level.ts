import { eventFilter, judgeByFilter } from '../message/event-filter';
import type { AlarmEvent } from './alarm-event';
import type { AlarmSettings } from './alarm-settings';

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
export interface Circumstances {
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
