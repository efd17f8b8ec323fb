/** Longer ones are taken as this, in milliseconds: nobody who waits for an alarm's video waits a day. */
const LONGEST_MS = 60 * 60 * 1000;

/**
 * Milliseconds that a `Retry-After` header asks to wait: seconds, or the date of an HTTP header (RFC 9110, section
 * 10.2.3), of which the time now is taken off by the clock of the service. Undefined where there is none that can be read.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_MS);
}
