import { SlotCalls } from '../postgres/calls/slot-calls';
import type { Step } from '../postgres/calls/step';
import type { Tables } from '../postgres/calls/tables';
import type { SlotRow, SlotRowOutcome, SlotRows } from '../store/slot-row';
import type { MovedSlots } from './source-file';
import type { TargetSession } from './target-session';

/** Values that flows keep, as they were moved: so many, and so many that were there already. */
export interface MovedSlotCounts {
  slots: number;
  ownSlots: number;
}

/** The slots of an inbox in PostgreSQL, as far as others are moved to them. Each call is to be made within a transaction of its session. */
export class TargetSlots {
  readonly #calls: SlotCalls;

  constructor(
    private readonly session: TargetSession,
    tables: Tables,
  ) {
    this.#calls = new SlotCalls(tables);
  }

  /**
   * One that is there stays as it is there; the instances are told of the others.
   * @param id of the file
   * @returns undefined where one of them is not there afterwards as it is in the file
   */
  async add(id: string, { owner, slots }: MovedSlots): Promise<MovedSlotCounts | undefined> {
    const outcomes = await this.#put(id, owner, slots);
    const brought = slots.filter((_, index) => outcomes[index]?.written === true);
    const there = new Map((await this.#read(owner)).map((slot) => [slot.name, slot.value]));
    if (!brought.every(({ name, value }) => there.get(name) === value)) return undefined;
    return { slots: brought.length, ownSlots: slots.length - brought.length };
  }

  async #put(id: string, owner: string, slots: readonly SlotRow[]): Promise<SlotRowOutcome[]> {
    const writes = slots.map(({ name, value, left }) => ({
      name,
      expected: 0,
      ...(value !== undefined && { value }),
      ...(left !== undefined && { lasts: Math.max(0, left) }),
    }));
    const request = { id: 0, name: 'putSlots', take: { owner, writes } } as const;
    return (await this.#run(this.#calls.changes([request], id))) as SlotRowOutcome[];
  }

  async #read(owner: string): Promise<SlotRow[]> {
    const step = this.#calls.slots({ id: 0, name: 'slots', take: { owner, since: 0 } });
    return ((await this.#run([step])) as SlotRows).slots;
  }

  /** @returns what the last of the statements gives */
  async #run(steps: readonly Step[]): Promise<unknown> {
    let give: unknown;
    for (const step of steps) {
      const rows = await this.session.run(step.statement, step.values);
      give = step.read?.(rows).at(-1)?.give;
    }
    return give;
  }
}
