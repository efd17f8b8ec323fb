import { RvmError } from '../error';
import { readTime } from '../time';

const ZONE = /(?:z|[+-]\d{2}(?::?\d{2})?)$/i;
/** Date, letter, time of day to the second, and what follows: fraction and zone. */
const PARTS = /^(\d{4}(-?)\d{2}-?\d{2})([Tt ])(\d{2}(:?)\d{2}(?::?\d{2})?)(.*)$/;

/**
 * The time to ask for: the event's text unchanged, because event times are UTC with or without a designator
 * (specification, section 2). With `appendZ` a text without a zone gets the `Z`.
 */
export function requestTime(text: string, appendZ: boolean): string {
  const time = text.slice(text.search(/t/i) + 1);
  return appendZ && !ZONE.test(time) ? `${text}Z` : text;
}

/**
 * The text of a time that a user gives: ISO 8601 as it is; milliseconds since 1970 or a Date as UTC with `Z`.
 * @throws RvmError BAD_INPUT for anything else
 */
export function timeText(value: unknown): string {
  const milliseconds = millisecondsOf(value);
  if (milliseconds !== undefined && Math.abs(milliseconds) <= 8.64e15)
    return new Date(milliseconds).toISOString();
  if (typeof value === 'string' && readTime(value) !== undefined) return value.trim();
  throw new RvmError(
    'BAD_INPUT',
    'The time of the recorded video must be ISO 8601, such as 2026-03-04T05:06:07Z, or milliseconds since 1970.',
  );
}

/**
 * The time some seconds earlier, in the same form: date and time with or without separators, as many digits of the
 * fraction, the same zone.
 * @param text one that `readTime` can read
 */
export function shiftedBack(text: string, seconds: number): string {
  if (seconds === 0) return text;
  const parts = PARTS.exec(text.trim());
  const milliseconds = Math.round(seconds * 1000);
  if (parts === null) return isoBack(text, milliseconds);
  const [, , dateMark = '', letter = 'T', clock = '', clockMark = '', rest = ''] = parts;
  const { fraction, zone } = /^(?<fraction>[.,]\d+)?(?<zone>.*)$/.exec(rest)?.groups ?? {};
  // Read without its zone, so that what comes out is in the same zone.
  const wall = readTime(`${parts[1]}T${clock}Z`);
  if (wall === undefined) return isoBack(text, milliseconds);
  const digits = Math.max(
    fraction === undefined ? 0 : fraction.length - 1,
    milliseconds % 1000 === 0 ? 0 : 3,
  );
  const own = BigInt((fraction ?? '').slice(1).padEnd(9, '0'));
  const nanoseconds = BigInt(wall.getTime() - milliseconds) * 1_000_000n + own;
  const at = new Date(Number(nanoseconds / 1_000_000n)).toISOString();
  const below = String(nanoseconds % 1_000_000_000n)
    .padStart(9, '0')
    .slice(0, digits);
  const withSeconds = clock.replaceAll(':', '').length === 6 || milliseconds % 60_000 !== 0;
  const day = at.slice(0, 10).replaceAll('-', dateMark);
  const time = at.slice(11, withSeconds || digits > 0 ? 19 : 16).replaceAll(':', clockMark);
  const mark = fraction?.charAt(0) ?? '.';
  return `${day}${letter}${time}${digits === 0 ? '' : mark + below}${zone ?? ''}`;
}

/** A form that has no time of day can keep none. */
function isoBack(text: string, milliseconds: number): string {
  return new Date((readTime(text)?.getTime() ?? 0) - milliseconds).toISOString();
}

function millisecondsOf(value: unknown): number | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.getTime();
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  // Fewer digits are a date without separators.
  return typeof value === 'string' && /^\s*\d{10,16}\s*$/.test(value) ? Number(value) : undefined;
}
