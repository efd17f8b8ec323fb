import { ENDS } from './own-ends';
import { storedEnds } from './slot-form';
import type { Slot, SlotWrite } from './slots';

/** When levels end that other lives of instances have extended, as they have told. */
export class ToldEnds {
  /** By name of the slot. */
  readonly #told = new Map<
    string,
    { by: string; version: number; until: number; ends: Map<string, number> }
  >();

  /** Undefined where that life has told nothing of a group. */
  endOf(by: string, group: string): number | undefined {
    for (const told of this.#told.values()) {
      const end = told.by === by ? told.ends.get(group) : undefined;
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** @returns the life that tells, and what */
  adopt(slot: Slot, now: number): { by: string; ends: ReadonlyMap<string, number> } {
    const { name, version, left = 0 } = slot;
    const by = name.slice(ENDS.length, name.lastIndexOf('/'));
    const ends = storedEnds(slot, now);
    if (slot.value === undefined) this.#told.delete(name);
    else this.#told.set(name, { by, version, until: now + left, ends });
    return { by, ends };
  }

  /** @returns what is to be removed: what it tells has been over for long, so whoever told it is gone */
  tidy(now: number, after: number): SlotWrite[] {
    const over = [...this.#told].filter(([, { until }]) => until + after < now);
    return over.map(([name, { version }]) => {
      this.#told.delete(name);
      return { name, value: undefined, expected: version };
    });
  }
}
