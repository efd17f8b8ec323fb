import { RvmError } from '../../error';
import type { RvmEvent } from '../../event';
import { LONGEST_PRE_ROLL } from '../../limits';
import { readTime, timeOf } from '../../time';
import type { RtspWanted } from '../calls';
import { asText, firstField } from '../http/answer';

const ZONE = /(?:z|[+-]\d{2}(?::?\d{2})?)$/i;
const PARTS = new RegExp(
  '^(?<day>\\d{4}(?<dateMark>-?)\\d{2}-?\\d{2})(?<letter>[Tt ])' +
    '(?<time>\\d{2}(?<timeMark>:?)\\d{2}(?::?\\d{2})?)(?:(?<point>[.,])(?<digits>\\d+))?(?<zone>.*)$',
);
/** Milliseconds since 1970: no recording is older. Smaller numbers are seconds. */
const EARLIEST = Date.UTC(2000, 0);
/** Milliseconds after now: margin for a wrong clock. No recording is later, so a larger number is no time. */
const FUTURE = 86_400_000;
/** A time that every service can read: with `T` between date and time, and with seconds. */
const FULL = /^\d{4}-?\d{2}-?\d{2}T\d{2}:?\d{2}:?\d{2}/;

/**
 * The time in the request: the event's text unchanged, because event times are UTC with or without a designator (specification,
 * section 2). With `appendZ` a text without a zone gets the `Z`.
 */
export function toServiceTime(text: string, appendZ: boolean): string {
  const time = text.slice(text.search(/t/i) + 1);
  return appendZ && !ZONE.test(time) ? `${text}Z` : text;
}

/**
 * The time of a user as text: full ISO 8601 unchanged; a date alone, milliseconds since 1970 and the like as full ISO 8601 in
 * UTC with `Z`.
 * @throws RvmError BAD_INPUT for anything else, and for milliseconds before 2000, which are really seconds
 */
function timeText(value: unknown): string {
  const milliseconds = millisecondsOf(value);
  if (milliseconds !== undefined && milliseconds >= EARLIEST && milliseconds <= Date.now() + FUTURE) {
    return new Date(milliseconds).toISOString();
  }
  const time = milliseconds === undefined ? readTime(value) : undefined;
  if (typeof value === 'string' && time !== undefined) {
    return FULL.test(value.trim()) ? value.trim() : time.toISOString();
  }
  throw new RvmError(
    'BAD_INPUT',
    'The time of the recorded video must be ISO 8601, such as 2026-03-04T05:06:07Z, or milliseconds since 1970, not seconds.',
  );
}

/**
 * The time some seconds earlier, in the same form: date and time with or without separators, at least as many digits of the
 * fraction, the same zone.
 * @param text one that `readTime` can read
 */
export function shiftedBack(text: string, seconds: number): string {
  if (seconds === 0) return text;
  const milliseconds = Math.round(seconds * 1000);
  const form = formOf(text.trim());
  // A text without a time of day has no form to keep.
  if (form === undefined) return new Date((readTime(text)?.getTime() ?? 0) - milliseconds).toISOString();
  const nanoseconds = BigInt(form.wallMs - milliseconds) * 1_000_000n + BigInt(form.digits.padEnd(9, '0'));
  const at = new Date(Number(nanoseconds / 1_000_000n)).toISOString();
  const count = Math.max(form.digits.length, milliseconds % 1000 === 0 ? 0 : 3);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, '0')
    .slice(0, count);
  const toSeconds = form.hasSeconds || count > 0 || milliseconds % 60_000 !== 0;
  const day = at.slice(0, 10).replaceAll('-', form.dateMark);
  const time = at.slice(11, toSeconds ? 19 : 16).replaceAll(':', form.timeMark);
  return `${day}${form.letter}${time}${count === 0 ? '' : form.point + fraction}${form.zone}`;
}

/** The format of a time, and its value on the wall clock of its zone. */
interface Form {
  /** Milliseconds since 1970 as if the zone were UTC, without the fraction. */
  wallMs: number;
  /** Digits of the fraction. */
  digits: string;
  hasSeconds: boolean;
  dateMark: string;
  letter: string;
  timeMark: string;
  point: string;
  zone: string;
}

function formOf(text: string): Form | undefined {
  const parts = PARTS.exec(text)?.groups;
  const { day = '', dateMark = '', letter = 'T', time = '', timeMark = '' } = parts ?? {};
  const wall = readTime(`${day}T${time}Z`);
  if (parts === undefined || wall === undefined) return undefined;
  const { point = '.', digits = '', zone = '' } = parts;
  const hasSeconds = time.replaceAll(':', '').length === 6;
  return { wallMs: wall.getTime(), digits, hasSeconds, dateMark, letter, timeMark, point, zone };
}

function millisecondsOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  // Fewer digits are a date without separators.
  if (typeof value === 'string') return /^\s*\d{10,16}\s*$/.test(value) ? Number(value) : undefined;
  return timeOf(value);
}

/**
 * The start of the recorded video, in the format of the event or the user; undefined for live video.
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
export function parseWantedTime(wanted: RtspWanted): number | undefined {
  return readTime(wantedTimeText(wanted))?.getTime();
}

/** A negative pre-roll is time after the start. */
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
