import { RvmError } from '../../error';
import type { RvmEvent } from '../../event';
import { readTime } from '../../time';
import type { RtspWanted } from '../calls';
import { LONGEST_PRE_ROLL } from '../../limits';
import { asText, firstField } from '../http/json-field';
import { shiftedBack, timeText } from './recorded-time';

/**
 * The time that recorded video is to begin at, in the form in which the event or the user gives it; undefined for live video.
 * @throws RvmError BAD_INPUT for a time that cannot be read, and for a pre-roll out of bounds
 */
export function wantedTimeText(wanted: RtspWanted): string | undefined {
  if (wanted.mode === 'live') return undefined;
  const text = wanted.mode === 'event' ? startTimeOf(wanted.event) : timeText(wanted.time);
  return shiftedBack(text, preRollOf(wanted.preRoll));
}

/**
 * The same in milliseconds since 1970.
 * @throws RvmError BAD_INPUT as above
 */
export function wantedTime(wanted: RtspWanted): number | undefined {
  return readTime(wantedTimeText(wanted))?.getTime();
}

/** A negative one is time after the start. */
function preRollOf(seconds: number): number {
  if (Math.abs(seconds) <= LONGEST_PRE_ROLL) return seconds;
  throw new RvmError('BAD_INPUT', `The pre-roll must be from 0 to ${LONGEST_PRE_ROLL} seconds.`);
}

function startTimeOf(event: RvmEvent): string {
  const text = asText(firstField(event, ['eventStartTime']));
  if (text !== undefined && readTime(text) !== undefined) return text;
  throw new RvmError(
    'BAD_INPUT',
    text === undefined
      ? 'The event has no eventStartTime, so it is not known which video to ask for.'
      : 'The eventStartTime of the event is no ISO 8601 time such as 2026-03-04T05:06:07, so it is not known which video to ask for.',
  );
}
