/** A small value that flows keep in the inbox: the level of a group, a finding. All instances on the inbox share it. */
export interface Slot {
  name: string;
  /**
   * JSON value; null also where a damaged disk does not give it any more. Undefined where it was removed, which is told only to
   * who asks for what has changed.
   */
  value: unknown;
  /** Grows with each change of any slot of its owner; never 0. */
  version: number;
  /**
   * Milliseconds until its end, by the clock of the store: 0 or less where it is over, and it stays all the same until somebody
   * removes it. Absent where it has none. Time that Node-RED is down counts.
   */
  left?: number;
}

export interface SlotWrite {
  /** Up to 500 characters. */
  name: string;
  /** Version that is expected there, 0 = none; where another one is there, this write alone is refused. Absent = whatever is there. */
  expected?: number;
  /** JSON value of up to 1 MiB; undefined removes it. */
  value: unknown;
  /** Its end, in milliseconds from now, by the clock of the store; absent = it has none. */
  lasts?: number;
}

/** What became of one write. `written` false: another version is there, and `slot` is that one; undefined where none is. */
export interface SlotOutcome {
  written: boolean;
  slot: Slot | undefined;
}

/** The slots of an owner that have changed; or all, without those removed. */
export interface ChangedSlots {
  /** To be asked from the next time. */
  version: number;
  /** True where they are all there are: what is not among them is gone. */
  isAll: boolean;
  slots: Slot[];
}

/** Slots by owner. An owner is named by who keeps them, in up to 500 characters. */
export interface Slots {
  /**
   * Those that changed after version `since`, in the order of their changes; all where it is 0, or where the store does not
   * know any more what was removed since (a day later, or after it was restored).
   * @throws RvmError STORE_FAILED, after seconds, where the store does not answer
   */
  slots(owner: string, since?: number): Promise<ChangedSlots>;

  /**
   * Writes them in one durable transaction, one after the other.
   * @throws RvmError BAD_INPUT where one is too large, or no JSON; STORE_FAILED, and nothing was changed or that is not known
   */
  putSlots(owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]>;

  /** Owners with this prefix that have slots. @throws RvmError STORE_FAILED */
  slotOwners(prefix: string): Promise<string[]>;

  /** Removes all of an owner. @throws RvmError STORE_FAILED */
  dropSlots(owner: string): Promise<void>;

  /**
   * Calls back, without saying what, when slots of an owner may have changed: by this process at once, by another within about
   * a second. It must not throw. Returns the way to end that.
   */
  watchSlots(owner: string, changed: () => void): () => void;
}
