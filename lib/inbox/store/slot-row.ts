/** A slot as it is stored: its value as JSON; absent where it was removed. */
export interface SlotRow {
  name: string;
  version: number;
  value?: string;
  /** Milliseconds until its end; absent where it has none. */
  left?: number;
}

export interface SlotRowWrite {
  name: string;
  /** 0 = none is expected there. Absent = whatever is there. */
  expected?: number;
  /** Absent = it is removed. */
  value?: string;
  /** Milliseconds, a whole number. */
  lasts?: number;
}

/** `slot` is the one that is there where it was not written. */
export interface SlotRowOutcome {
  written: boolean;
  slot?: SlotRow;
}

/** As `ChangedSlots`. */
export interface SlotRows {
  version: number;
  isAll: boolean;
  slots: SlotRow[];
}

/** How long it is known what was removed, in milliseconds, and of how many slots of an owner. */
export const REMOVED_FOR = 24 * 60 * 60 * 1000;
export const MOST_REMOVED = 10_000;
