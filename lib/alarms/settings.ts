import { RvmError } from '../error';
import { beginOf } from '../text';

/** By what events are put together. */
export const GROUPINGS = ['site', 'camera', 'rule', 'station', 'all'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Most events that one alarm may be made to wait for: each is kept. */
export const MOST_COUNTED = 100;
/** Seconds: a level that nobody wants to see down again is none. */
export const LONGEST_HOLD = 7 * 24 * 60 * 60;
/** Minutes that a group may be on test: whoever needs more, disarms it. */
const LONGEST_TEST = 7 * 24 * 60;

/** How events become a level. */
export interface AlarmSettings {
  group: Grouping;
  /** Milliseconds that a raised state lasts after the last event that raises or extends it. */
  hold: number;
  /** Seconds: events that are older are held back. */
  ignoreOlder: number;
  /** So many events within so many milliseconds raise it. */
  count: number;
  within: number;
  /** Empty: all but health. */
  classes: readonly string[];
  /** Whether events of the sandbox count. */
  sandbox: boolean;
  /** Milliseconds between two times that a raised state is said; 0: only once. */
  repeat: number;
}

/** Group of events that do not say where they belong, and of those beyond the most groups there may be. */
export const UNKNOWN_GROUP = 'unknown';

/** Characters; a slot of the store is named after it. */
const LONGEST = 200;
const CLEAN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;
const UNCLEAN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\s]+/gu;

/** The name of a group as events and controls have it: one line, so that two that look alike are one. */
export function groupName(text: string): string {
  if (text.length <= LONGEST && CLEAN.test(text)) return text;
  const clean = text
    .slice(0, 4 * LONGEST)
    .replace(UNCLEAN, ' ')
    .trim();
  return beginOf(clean, LONGEST) || UNKNOWN_GROUP;
}

const CONTROLS = ['arm', 'disarm', 'acknowledge', 'test'] as const;

/** What a flow tells an alarm state to do. */
export interface Control {
  do: (typeof CONTROLS)[number];
  /** '' = all. */
  group: string;
  /** Of a test: milliseconds; 0 ends it. */
  lasts: number;
}

const MINUTE = 60_000;

/** @throws RvmError BAD_INPUT */
export function controlOf(topic: unknown, group: unknown, minutes: unknown): Control {
  const control = CONTROLS.find((each) => each === topic);
  if (control === undefined)
    throw new RvmError(
      'BAD_INPUT',
      'This message is neither an event nor a control: keep msg.webhook from webhook in to here, or set msg.topic to arm, disarm, acknowledge or test.',
    );
  return { do: control, group: groupOf(group), lasts: control === 'test' ? lengthOf(minutes) : 0 };
}

function groupOf(group: unknown): string {
  if (group === undefined || group === null) return '';
  // An empty one is a mistake of the flow: it must not disarm all.
  if ((typeof group === 'string' && group.trim() !== '') || typeof group === 'number')
    return groupName(`${group}`);
  throw new RvmError(
    'BAD_INPUT',
    'msg.group is no text, or empty: give it the name of a group, as msg.topic of output 1 has it, or leave it out for all.',
  );
}

function lengthOf(minutes: unknown): number {
  const number = typeof minutes === 'string' && minutes.trim() !== '' ? Number(minutes) : minutes;
  if (typeof number === 'number' && number >= 0 && number <= LONGEST_TEST) return number * MINUTE;
  throw new RvmError(
    'BAD_INPUT',
    `A test needs its length in msg.minutes: a number up to ${LONGEST_TEST} (a week), 0 to end it.`,
  );
}
