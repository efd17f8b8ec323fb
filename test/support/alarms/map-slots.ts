import type { Slots } from '../../../lib/alarms/slot-store';
import type { Slot, SlotOutcome, SlotWrite } from '../../../lib/inbox/slot';
import { storeFailed } from '../../../lib/inbox/store/port';

/** Milliseconds that an answer takes. */
const TAKES = 7;

interface Kept {
  version: number;
  json: string | undefined;
  ends: number | undefined;
}

/** The slots of one owner as a plain map that instances share, by the clock of `performance.now()`. */
export class MapSlots implements Slots {
  /** True while whatever is asked is refused. */
  isFailing = false;
  /** How often something was written, in how many slots, and how often it was read. */
  puts = 0;
  written = 0;
  reads = 0;
  #version = 0;
  readonly #kept = new Map<string, Kept>();
  readonly #watchers = new Set<() => void>();

  async slots(_owner: string, since = 0): Promise<{ version: number; isAll: boolean; slots: Slot[] }> {
    await this.#answer();
    this.reads += 1;
    const changed = [...this.#kept].filter(
      ([, { version, json }]) => version > since && (since > 0 || json !== undefined),
    );
    const slots = changed
      .sort(([, one], [, other]) => one.version - other.version)
      .map(([name, kept]) => slotOf(name, kept));
    return { version: this.#version, isAll: since === 0, slots };
  }

  async putSlots(_owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    await this.#answer();
    this.puts += 1;
    const outcomes = writes.map((write) => this.#put(write));
    for (const changed of this.#watchers) changed();
    return outcomes;
  }

  watchSlots(_owner: string, changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** Names of the slots that there are. */
  names(): string[] {
    return [...this.#kept].filter(([, { json }]) => json !== undefined).map(([name]) => name);
  }

  #put({ name, expected, value, lasts }: SlotWrite): SlotOutcome {
    const found = this.#kept.get(name);
    const isThere = found?.json !== undefined;
    if (expected !== undefined && expected !== (isThere ? found.version : 0))
      return { written: false, slot: isThere ? slotOf(name, found) : undefined };
    if (value === undefined && !isThere) return { written: true, slot: undefined };
    this.#version += 1;
    this.written += 1;
    const kept = {
      version: this.#version,
      json: value === undefined ? undefined : JSON.stringify(value),
      ends: lasts === undefined ? undefined : performance.now() + lasts,
    };
    this.#kept.set(name, kept);
    return { written: true, slot: value === undefined ? undefined : slotOf(name, kept) };
  }

  async #answer(): Promise<void> {
    await new Promise<void>((resolve) => {
      setTimeout(resolve, TAKES);
    });
    if (this.isFailing) throw storeFailed('of the test');
  }
}

function slotOf(name: string, { version, json, ends }: Kept): Slot {
  return {
    name,
    version,
    value: json === undefined ? undefined : (JSON.parse(json) as unknown),
    ...(ends !== undefined && { left: ends - performance.now() }),
  };
}
