import { DOWN, type Level } from './level';

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
  /**
   * When the level ends as far as the store knows: never before it does. So most extensions are durable without a write.
   */
  durableUntil: number;
  /** True where this instance wrote the slot last: it alone may end the level before `durableUntil`. */
  isOurs: boolean;
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
    durableUntil: 0,
    isOurs: false,
    isAhead: false,
    repeatAt: Infinity,
    line: undefined,
  };
}

/** When a raised one is to be released. */
export function endOf({ level, isOurs, isAhead, durableUntil }: Group): number {
  if (!level.raised) return Infinity;
  return isOurs || isAhead ? level.until : Math.max(level.until, durableUntil);
}
