/** Names in the folder of an inbox that is a file: that of the file, and of what is spilled where nothing else is set. */
export const INBOX_FILE = 'inbox.sqlite';
export const SPILL_FOLDER = 'spill';

/** How an inbox is kept. */
export interface InboxSettings {
  /** '' = `spill` in the folder of the inbox. */
  spillFolder: string;
  /** How long ids are known at least, in days. */
  keyDays: number;
  /** How long events are kept, in days. */
  bodyDays: number;
}

export const DEFAULT_SETTINGS: InboxSettings = { spillFolder: '', keyDays: 7, bodyDays: 30 };

/** Ids must be known longer than resends last, which is a day. */
export const LEAST_KEY_DAYS = 2;

export function areSame(one: InboxSettings, other: InboxSettings): boolean {
  return (
    one.spillFolder === other.spillFolder && one.keyDays === other.keyDays && one.bodyDays === other.bodyDays
  );
}
