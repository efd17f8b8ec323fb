import type { ChangedSlots, Slot, SlotOutcome, Slots, SlotWrite } from '../../../lib/inbox/slot';
import { storeFailed } from '../../../lib/inbox/store/port';

interface Kept {
  value: unknown;
  version: number;
  endsAt: number | undefined;
}

/** Slots in memory, which several instances share; they fail, or wait, where a test says so. */
export class SlotPlace implements Pick<Slots, 'slots' | 'putSlots'> {
  fails = false;
  /** What was written, by name. */
  readonly writes: string[] = [];
  readonly #owners = new Map<string, Map<string, Kept>>();
  #version = 0;

  /** @param clock milliseconds, of the store */
  constructor(private readonly clock: () => number) {}

  async slots(owner: string, since = 0): Promise<ChangedSlots> {
    this.#check();
    const kept = [...this.#of(owner)].map(([name, each]) => this.#slot(name, each));
    const slots = kept.filter(({ version, value }) => version > since && (since > 0 || value !== undefined));
    return { version: this.#version, isAll: since === 0, slots };
  }

  async putSlots(owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    this.#check();
    return writes.map((write) => this.#write(this.#of(owner), write));
  }

  #write(kept: Map<string, Kept>, { name, expected, value, lasts }: SlotWrite): SlotOutcome {
    const known = kept.get(name);
    const version = known === undefined || known.value === undefined ? 0 : known.version;
    if (expected !== undefined && expected !== version)
      return { written: false, slot: known && this.#slot(name, known) };
    this.#version += 1;
    const endsAt = lasts === undefined ? undefined : this.clock() + lasts;
    const json: unknown = value === undefined ? undefined : JSON.parse(JSON.stringify(value));
    kept.set(name, { value: json, version: this.#version, endsAt });
    this.writes.push(name);
    return { written: true, slot: { name, value, version: this.#version } };
  }

  #slot(name: string, { value, version, endsAt }: Kept): Slot {
    return { name, value, version, ...(endsAt !== undefined && { left: endsAt - this.clock() }) };
  }

  #of(owner: string): Map<string, Kept> {
    const known = this.#owners.get(owner) ?? new Map<string, Kept>();
    this.#owners.set(owner, known);
    return known;
  }

  #check(): void {
    if (this.fails) throw storeFailed('the disk is gone');
  }
}
