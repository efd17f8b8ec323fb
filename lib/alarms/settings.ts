import { RvmError } from '../error';
import { beginOf } from '../text';

/** How events are grouped. */
export const GROUPINGS = ['site', 'camera', 'rule', 'station', 'all'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Largest number of events that may be required to raise a group: each is stored. */
export const MOST_COUNTED = 100;
/** Seconds. A level that stays up longer carries no information. */
export const LONGEST_HOLD = 7 * 24 * 60 * 60;
/** Longest test in minutes; for longer periods a group can be disarmed. */
const LONGEST_TEST = 7 * 24 * 60;

/** How events become a level. */
export interface AlarmSettings {
  group: Grouping;
  /** Milliseconds that a raised level lasts after the last event that raised or extended it. */
  hold: number;
  /** Seconds; older events are held back. */
  ignoreOlder: number;
  /** `count` events within `within` milliseconds raise a group. */
  count: number;
  within: number;
  /** Empty: all classes except health. */
  classes: readonly string[];
  /** Whether events of the sandbox count. */
  sandbox: boolean;
  /** Milliseconds between two reports of a raised state; 0: reported once. */
  repeat: number;
}

/** Group of events without a group name, and of those beyond the largest number of groups. */
export const UNKNOWN_GROUP = 'unknown';

/** Characters; part of a slot name. */
const LONGEST = 200;
const CLEAN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;
const UNCLEAN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\s]+/gu;

/** The normalized name of a group, on one line: names that look alike become equal. */
export function groupName(text: string): string {
  if (text.length <= LONGEST && CLEAN.test(text)) return text;
  const clean = text
    .slice(0, 4 * LONGEST)
    .replace(UNCLEAN, ' ')
    .trim();
  return beginOf(clean, LONGEST) || UNKNOWN_GROUP;
}

const CONTROLS = ['arm', 'disarm', 'acknowledge', 'test'] as const;

/** A command of a flow to an alarm state. */
export interface Control {
  do: (typeof CONTROLS)[number];
  /** '' = all. */
  group: string;
  /** Duration of a test in milliseconds; 0 ends it. */
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
  // An empty group is a mistake of the flow and must not disarm all groups.
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
