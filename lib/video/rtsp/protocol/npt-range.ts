/** Hours, minutes and seconds, or seconds alone (RFC 2326, section 3.6). */
const CLOCK = /^(\d{1,6}):([0-5]?\d):([0-5]?\d(?:\.\d{0,9})?)$/;
const SECONDS = /^\d{1,9}(?:\.\d{0,9})?$/;
/** No two parts of it take the same characters: else a relay that sends many blanks would keep the process busy for half a minute. */
const RANGE = /^\s*npt\s*=([^-;]*)-([^;]*)/i;

/** The value of a `Range` that begins there and has no end. */
export function rangeFrom(seconds: number): string {
  return `npt=${seconds.toFixed(3)}-`;
}

/**
 * How many seconds a `Range`, or an `a=range` of a session description, covers.
 * @returns undefined where it has no end, as live video has none, or cannot be read
 */
export function lengthOfRange(range: string | undefined): number | undefined {
  const [, from = '', to = ''] = RANGE.exec(range ?? '') ?? [];
  const [start, end] = [from.trim() === '' ? 0 : seconds(from), seconds(to)];
  return start === undefined || end === undefined || end < start ? undefined : end - start;
}

function seconds(text: string): number | undefined {
  const [, hours, minutes, rest] = CLOCK.exec(text.trim()) ?? [];
  if (hours !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
  return SECONDS.test(text.trim()) ? Number(text) : undefined;
}
