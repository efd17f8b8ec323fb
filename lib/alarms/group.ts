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
