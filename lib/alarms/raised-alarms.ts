import { createHash } from 'node:crypto';
import type { Raiser } from './level';
import type { Slot, SlotWrite } from '../inbox/slot';

export const RAISED = 'raised/';
/** Milliseconds: as long as the service may send an event again. */
const REMEMBERED_FOR = 24 * 60 * 60 * 1000;
const TIDY_EVERY = 60 * 60 * 1000;
/** Beyond it the oldest are forgotten. */
const MOST = 20_000;

interface Remembered {
  /** Id of the event that raised. */
  id: string;
  /** When it may be forgotten, in milliseconds. */
  until: number;
}

/**
 * The alarms that have raised a group, so that none does it twice. The last one of each group stands with its level; here are those
 * before.
 */
export class RaisedAlarms {
  /** By name of the slot, oldest first. */
  readonly #known = new Map<string, Remembered>();
  #tidiedAt = -Infinity;
  /** Slots that are to be removed. */
  #over: string[] = [];

  /** Which event of the alarm of `raiser` has raised a group; undefined where none has. */
  raiserOf(group: string, alarm: string): string | undefined {
    return alarm === '' || this.#known.size === 0 ? undefined : this.#known.get(nameOf(group, alarm))?.id;
  }

  /** @returns what is to be written, for another takes its place as the last of its group */
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

  /** @returns what is to be removed, for a day has gone by */
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

  /** When it is worth while to look for what can be forgotten. */
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

/** Of any length and content as text, a name of a few characters. */
function nameOf(group: string, alarm: string): string {
  return (
    RAISED +
    createHash('sha256')
      .update(JSON.stringify([group, alarm]))
      .digest('base64url')
  );
}
