/** What a PLAY asks for, in seconds from the start of the recording. */
export type RequestedRange = { kind: 'now' } | { kind: 'from'; start: number; end?: number };

/**
 * Reads a `Range` header with normal play time (RFC 2326, section 3.6).
 * Returns a status instead where it cannot be served: 501 for another unit, 457 for an unreadable or empty range.
 */
export function parseRange(header: string): RequestedRange | 457 | 501 {
  const [unit = '', value = ''] = (header.split(';')[0] ?? '').split('=').map((part) => part.trim());
  if (unit.toLowerCase() !== 'npt') return 501;
  const [from = '', to = ''] = value.split('-').map((part) => part.trim());
  if (!value.includes('-')) return 457;
  if (from === 'now') return { kind: 'now' };
  const start = from === '' ? 0 : seconds(from);
  const end = to === '' ? undefined : seconds(to);
  if (Number.isNaN(start) || Number.isNaN(end)) return 457;
  if (end === undefined) return { kind: 'from', start };
  return end > start ? { kind: 'from', start, end } : 457;
}

/** Normal play time with milliseconds. */
export function formatSeconds(value: number): string {
  return value.toFixed(3);
}

// `12.5` or `0:00:12.5`
function seconds(text: string): number {
  const clock = /^(\d{1,6}):([0-5]?\d):([0-5]?\d(?:\.\d*)?)$/.exec(text);
  if (clock !== null) return Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3]);
  return /^\d{1,9}(?:\.\d*)?$/.test(text) ? Number(text) : Number.NaN;
}
