const ISO_TIME = new RegExp(
  '^(\\d{4})-?(\\d{2})-?(\\d{2})' + // date, extended or basic
    '(?:[Tt ](\\d{2}):?(\\d{2})(?::?(\\d{2})(?:[.,](\\d{1,9}))?)?' + // time of day, fraction to the nanosecond
    '\\s?(?:([Zz])|([+-])(\\d{2}):?(\\d{2})?)?)?$', // zone
);

/** Earlier years mean "no date", as in `0001-01-01T00:00:00`, or a clock that is not set. */
const FIRST_YEAR = 1970;

/**
 * Reads a time of the service: ISO 8601, extended or basic, with zero to nine fraction digits. A time without a zone is UTC
 * (specification, section 2, eventStartTime). `24:00:00` and a leap second count into the next day or minute. Undefined for
 * everything else, dates before 1970 included.
 */
export function readTime(value: unknown): Date | undefined {
  if (typeof value !== 'string' || value.length > 64) return undefined;
  const match = ISO_TIME.exec(value.trim());
  if (match === null) return undefined;
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = 0, , sign, hours, minutes] = match;
  const date = { year: Number(year), month: Number(month), day: Number(day) };
  const clock = { hour: Number(hour), minute: Number(minute), second: Number(second) };
  if (date.year < FIRST_YEAR || !isCalendarDay(date) || !isTimeOfDay(clock)) return undefined;
  const milliseconds = Math.trunc(Number(`0.${fraction}`) * 1000);
  const local = Date.UTC(date.year, date.month - 1, date.day, clock.hour, clock.minute, clock.second);
  return new Date(local + milliseconds - offsetMilliseconds(sign, hours, minutes));
}

/** Milliseconds since 1970: no event is older. Smaller numbers are seconds, but 0, which means "from the beginning". */
const EARLIEST = Date.UTC(2000, 0);

/** ISO 8601 or milliseconds since 1970, as a user writes them, in milliseconds since 1970; NaN for anything else. */
export function writtenTime(value: string | number): number {
  const time = readTime(value)?.getTime();
  if (time !== undefined) return time;
  const number = Number(value);
  return number === 0 || number >= EARLIEST ? number : NaN;
}

/** A wall clock that moves this much against the monotonic one was set, not corrected. Milliseconds. */
export const CLOCK_JUMP = 5 * 60 * 1000;

/**
 * Milliseconds since 1970 of a Date, even where its methods were replaced; NaN for an invalid one. Undefined for other values.
 */
export function timeOf(value: unknown): number | undefined {
  try {
    return Date.prototype.getTime.call(value);
  } catch {
    return undefined;
  }
}

/** True for the date that means "none" in messages of the .NET family. */
export function isZeroDate(value: unknown): boolean {
  return typeof value === 'string' && value.trim().startsWith('0001-01-01');
}

function isCalendarDay({ year, month, day }: { year: number; month: number; day: number }): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function isTimeOfDay({ hour, minute, second }: { hour: number; minute: number; second: number }): boolean {
  if (hour === 24) return minute === 0 && second === 0;
  return hour < 24 && minute < 60 && second <= 60;
}

function offsetMilliseconds(sign = '+', hours = '0', minutes = '0'): number {
  const size = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === '-' ? -size : size;
}
