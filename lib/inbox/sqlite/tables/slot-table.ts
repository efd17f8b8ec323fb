import type { StoreCalls } from '../../store/protocol';
import {
  MOST_REMOVED,
  REMOVED_FOR,
  type SlotRow,
  type SlotRowOutcome,
  type SlotRows,
  type SlotRowWrite,
} from '../../store/slot-row';
import type { SlotClock } from './slot-clock';
import type { Row, Statements } from './statements';

/** What flows keep, by owner and name. The versions of an owner are counted up. */
export class SlotTable {
  /** @param keepClock told of each write, for the clock is to be kept with it */
  constructor(
    private readonly statements: Statements,
    private readonly clock: SlotClock,
    private readonly keepClock: () => void,
  ) {}

  slots({ owner, since }: StoreCalls['slots']['take']): SlotRows {
    const { version, forgotten } = this.#ownerOf(owner);
    const isAll = since === 0 || since < forgotten || since > version;
    const rows = isAll ? this.statements.slots.all(owner) : this.statements.slotsSince.all(owner, since);
    return { version, isAll, slots: rows.map((row) => this.#slotOf(row)) };
  }

  put({ owner, writes }: StoreCalls['putSlots']['take']): SlotRowOutcome[] {
    const { version: before } = this.#ownerOf(owner);
    let version = before;
    const outcomes = writes.map((write) => {
      const found = this.statements.slot.get(owner, write.name);
      if (write.expected !== undefined && write.expected !== Number(found?.['version'] ?? 0))
        return { written: false, ...(found && { slot: this.#slotOf(found) }) };
      if (write.value === undefined && found === undefined) return { written: true };
      version += 1;
      return { written: true, ...this.#write(owner, write, version) };
    });
    if (version > before) this.#setVersion(owner, version);
    return outcomes;
  }

  owners(prefix: string): string[] {
    return this.statements.slotOwners.all(prefix).map((row) => String(row['owner']));
  }

  drop({ owner }: StoreCalls['dropSlots']['take']): void {
    const names = this.statements.slots.all(owner).map((row) => String(row['name']));
    this.put({ owner, writes: names.map((name) => ({ name })) });
  }

  versions(owners: readonly string[]): Record<string, number> {
    return Object.fromEntries(owners.map((owner) => [owner, this.#ownerOf(owner).version]));
  }

  /** Forgets what was removed long ago. */
  tidy(): void {
    const before = this.clock.now() - REMOVED_FOR;
    for (const { owner = null } of this.statements.slotOwnersRemoved.all()) {
      const version = this.statements.slotForgotten.get(owner, before, MOST_REMOVED)?.['version'] ?? null;
      if (version === null) continue;
      this.statements.forgetSlots.run(owner, version);
      this.statements.setForgotten.run(owner, version);
    }
  }

  #write(owner: string, { name, value, lasts }: SlotRowWrite, version: number): { slot?: SlotRow } {
    const now = this.clock.now();
    const isRemoved = value === undefined;
    const ends = isRemoved || lasts === undefined ? null : now + lasts;
    this.statements.putSlot.run(owner, name, version, value ?? null, ends, now);
    return isRemoved ? {} : { slot: { name, version, ...(lasts !== undefined && { left: lasts }) } };
  }

  #setVersion(owner: string, version: number): void {
    this.statements.setSlotOwner.run(owner, version);
    this.keepClock();
  }

  #ownerOf(owner: string): { version: number; forgotten: number } {
    const row = this.statements.slotOwner.get(owner);
    return { version: Number(row?.['version'] ?? 0), forgotten: Number(row?.['forgotten'] ?? 0) };
  }

  #slotOf({ name, version, value, ends }: Row): SlotRow {
    return {
      name: String(name),
      version: Number(version),
      ...(typeof value === 'string' && { value }),
      ...(typeof ends === 'number' && { left: ends - this.clock.now() }),
    };
  }
}
