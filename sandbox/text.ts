import { createHash, timingSafeEqual } from 'node:crypto';

/** Extended (`2026-03-04T05:06:07.89Z`) or basic (`20260304T050607.89Z`) form, 0 to 9 fraction digits. */
const ISO_TIME =
  /^(\d{4})(-?)(\d{2})\2(\d{2})T(\d{2})(:?)(\d{2})\6(\d{2})(?:\.(\d{1,9}))?(?:(Z)|([+-])(\d{2}):?(\d{2}))?$/;

/**
 * Milliseconds since 1970 of an ISO 8601 time; no zone means UTC, as in the service's event messages (specification, section 2,
 * Payload). Undefined where the text is no such time or no real date.
 */
export function parseIsoTime(text: string): number | undefined {
  const match = ISO_TIME.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = [1, 3, 4, 5, 7, 8].map((group) => Number(match[group]));
  const time = Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second);
  const expected = `${match[1]}-${match[3]}-${match[4]}T${match[5]}:${match[7]}:${match[8]}.000Z`;
  if (Number.isNaN(time) || new Date(time).toISOString() !== expected) return undefined;
  const fraction = Math.floor(Number(`0.${match[9] ?? '0'}`) * 1000);
  return time + fraction - offsetOf(match[11], match[12], match[13]);
}

/** A time as the service's sample messages write it: UTC without zone designator, seven fraction digits. */
export function zonelessTime(time: number): string {
  return new Date(time).toISOString().replace('Z', '0000');
}

function offsetOf(sign: string | undefined, hours: string | undefined, minutes: string | undefined): number {
  if (sign === undefined) return 0;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === '-' ? -offset : offset;
}

/** Compares in constant time: the duration does not reveal where the texts differ. */
export function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** Whether an address or host name is a loopback one. */
export function isLoopback(host: string): boolean {
  const name = host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:/i, '')
    .toLowerCase();
  return name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
