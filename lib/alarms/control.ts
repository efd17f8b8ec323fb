import { RvmError } from '../error';
import { LONGEST_TEST } from './alarm-settings';
import { groupName } from './group-name';

export const CONTROLS = ['arm', 'disarm', 'acknowledge', 'test'] as const;

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
