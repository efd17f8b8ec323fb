/** Hours, minutes and seconds, or seconds alone (RFC 2326, section 3.6); frames of a second of SMPTE behind a colon (section 3.5). */
const CLOCK = /^(\d{1,6}):([0-5]?\d):([0-5]?\d(?:\.\d{0,9})?)(?::\d{1,3}(?:\.\d{1,3})?)?$/;
const SECONDS = /^\d{1,9}(?:\.\d{0,9})?$/;
/** Section 3.7. */
const UTC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d{0,9})?)Z?$/i;
/** No two parts of it take the same characters: else a relay that sends many blanks would keep the process busy for half a minute. */
const RANGE = /^\s*(npt|clock|smpte[\w-]{0,16})\s*=([^-;]*)-([^;]*)/i;

/** The value of a `Range` that begins there and has no end. */
export function rangeFrom(seconds: number): string {
  return `npt=${seconds.toFixed(3)}-`;
}

/**
 * How many seconds a `Range`, or an `a=range` of a session description, covers.
 * @returns `Infinity` for live video that says so; undefined where no end is told, or none that can be read
 */
export function lengthOfRange(range: string | undefined): number | undefined {
  const [, unit = '', from = '', to = ''] = RANGE.exec(range ?? '') ?? [];
  if (from.trim().toLowerCase() === 'now') return Infinity;
  const read = unit.toLowerCase() === 'clock' ? utcSeconds : seconds;
  const [start, end] = [from.trim() === '' ? 0 : read(from.trim()), read(to.trim())];
  return start === undefined || end === undefined || end < start ? undefined : end - start;
}

function seconds(text: string): number | undefined {
  const [, hours, minutes, rest] = CLOCK.exec(text) ?? [];
  if (hours !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
  return SECONDS.test(text) ? Number(text) : undefined;
}

function utcSeconds(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] = UTC.exec(text) ?? [];
  if (year === undefined) return undefined;
  const minutes = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute)) / 1000;
  return minutes + Number(second);
}
