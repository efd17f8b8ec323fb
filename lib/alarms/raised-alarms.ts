import { createHash } from 'node:crypto';
import type { Raiser } from './level';
import type { Slot, SlotWrite } from '../inbox/slot';

export const RAISED = 'raised/';
/** Milliseconds: the time in which the service may resend an event. */
const REMEMBERED_FOR = 24 * 60 * 60 * 1000;
const TIDY_EVERY = 60 * 60 * 1000;
/** Largest number of alarms; the oldest beyond it are removed. */
const MOST = 20_000;

interface Remembered {
  /** Id of the event that raised the group. */
  id: string;
  /** When the entry expires, in milliseconds. */
  until: number;
}

/**
 * The alarms that have raised a group, so that no alarm raises it twice. The last one of a group is stored with its level; this
 * class has the earlier ones.
 */
export class RaisedAlarms {
  /** By name of the slot, oldest first. */
  readonly #known = new Map<string, Remembered>();
  #tidiedAt = -Infinity;
  /** Slots to be removed. */
  #over: string[] = [];

  /** Id of the event of this alarm that raised the group; undefined where none did. */
  raiserOf(group: string, alarm: string): string | undefined {
    return alarm === '' || this.#known.size === 0 ? undefined : this.#known.get(nameOf(group, alarm))?.id;
  }

  /** Stores a former raiser when another alarm has replaced it. @returns writes for the store */
  remember(group: string, { id, alarm }: Raiser, now: number): SlotWrite[] {
    if (alarm === '') return [];
    const name = nameOf(group, alarm);
    this.#keep(name, { id, until: now + REMEMBERED_FOR });
    return [{ name, value: id, lasts: REMEMBERED_FOR }, ...this.#removals()];
  }

  adopt({ name, value, left = 0 }: Slot, now: number): void {
    if (typeof value !== 'string') this.#known.delete(name);
    else this.#keep(name, { id: value, until: now + left });
  }

  /** Removes entries older than a day. @returns removals for the store */
  tidy(now: number): SlotWrite[] {
    if (now < this.nextEnd()) return [];
    this.#tidiedAt = now;
    for (const [name, { until }] of this.#known) {
      if (until > now) continue;
      this.#known.delete(name);
      this.#over.push(name);
    }
    return this.#removals();
  }

  /** When `tidy` is due. */
  nextEnd(): number {
    const [oldest] = this.#known.values();
    return oldest === undefined ? Infinity : Math.max(oldest.until, this.#tidiedAt + TIDY_EVERY);
  }

  #keep(name: string, remembered: Remembered): void {
    this.#known.delete(name);
    this.#known.set(name, remembered);
    const [oldest] = this.#known.keys();
    if (this.#known.size <= MOST || oldest === undefined) return;
    this.#known.delete(oldest);
    this.#over.push(oldest);
  }

  #removals(): SlotWrite[] {
    const over = this.#over;
    this.#over = [];
    return over.map((name) => ({ name, value: undefined }));
  }
}

/** Slot name: a digest, because group and alarm are texts of any length and content. */
function nameOf(group: string, alarm: string): string {
  return (
    RAISED +
    createHash('sha256')
      .update(JSON.stringify([group, alarm]))
      .digest('base64url')
  );
}
