import type { DatabaseSync } from 'node:sqlite';

/** Since when ids may be lost, by the clock of the file, in milliseconds. */
export const IDS_LOST = 'ids-lost';
/** The last sequence of what may have been delivered without the file knowing it: events that were read from a damaged file, or an older copy. */
export const UNCERTAIN = 'doubtful-up-to';

/** Added to the newest sequence that is known where there were newer ones, of which nobody knows how many. */
export const BEYOND_LOST = 1_000_000;

/** As the package writes one; more digits would be beyond every sequence. */
const NUMBER = /^\d{1,14}$/;

/** A number of `meta`; undefined where it is none: of a byte that has changed SQLite knows nothing. */
export function numberIn(text: unknown): number | undefined {
  return typeof text === 'string' && NUMBER.test(text) ? Number(text) : undefined;
}

/** The clock of a file as it was kept, in milliseconds; where that cannot be read, as of the newest message. */
export function clockIn(database: DatabaseSync): number {
  const kept = numberIn(database.prepare(`SELECT value FROM meta WHERE name = 'clock'`).get()?.['value']);
  if (kept !== undefined) return kept;
  const newest = database.prepare('SELECT stored FROM message ORDER BY sequence DESC LIMIT 1').get();
  return Number(newest?.['stored'] ?? 0);
}
