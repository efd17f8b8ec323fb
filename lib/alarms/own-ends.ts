import type { Group } from './group';
import { endsValue } from './slot-form';
import type { SlotWrite } from './slots';
import type { StoreLink } from './store-link';

export const ENDS = 'ends/';
/** Milliseconds until an extension is durable by itself: a tenth of the hold, within these. */
const [SOONEST, LATEST] = [1000, 3000];
/** Milliseconds until it is where an event waits for that, to be settled. */
const SOON = 50;
/** Groups whose ends stand in one slot. */
const IN_ONE = 500;

interface Part {
  groups: Set<Group>;
  isChanged: boolean;
}

/** What is written next. */
interface Pending {
  groups: Set<Group>;
  written: Promise<boolean>;
  /** Begins by then, in milliseconds from now. */
  within: (pause: number) => void;
}

/**
 * When the levels end that this instance has extended: written together every few seconds, for an extension changes nothing else. A write for
 * each would cost more than all the rest.
 */
export class OwnEnds {
  readonly #parts: Part[] = [];
  readonly #partOf = new Map<Group, Part>();
  readonly #pause: number;
  #pending: Pending | undefined;
  #writing: Pending | undefined;

  /**
   * @param name of this life of this instance
   * @param hold of its levels, in milliseconds
   */
  constructor(
    private readonly link: StoreLink,
    private readonly name: string,
    hold: number,
  ) {
    this.#pause = Math.min(LATEST, Math.max(SOONEST, hold / 10));
  }

  /** The level of a group of this instance ends later now. */
  extended(group: Group): void {
    this.#partFor(group).isChanged = true;
    this.#pending ??= this.#begin();
    this.#pending.groups.add(group);
  }

  /** Whether the end of a level is durable, for one who waits for that: it is so soon. */
  async isDurable(group: Group): Promise<boolean> {
    const writing = this.#writing;
    if (writing?.groups.has(group) === true && !(await writing.written)) return false;
    if (this.#pending?.groups.has(group) !== true) return !group.isAhead;
    this.#pending.within(SOON);
    return this.#pending.written;
  }

  /** Writes at once what waits. */
  flush(): void {
    this.#pending?.within(0);
  }

  #begin(): Pending {
    const groups = new Set<Group>();
    const begun = performance.now();
    let within = (_pause: number): void => undefined;
    const written = new Promise<void>((resolve) => {
      let timer = setTimeout(resolve, this.#pause);
      let at = begun + this.#pause;
      within = (pause) => {
        const sooner = performance.now() + pause;
        if (sooner >= at) return;
        at = sooner;
        clearTimeout(timer);
        timer = setTimeout(resolve, pause);
      };
    }).then(() => this.#write(groups));
    return { groups, written, within };
  }

  async #write(groups: ReadonlySet<Group>): Promise<boolean> {
    this.#writing = this.#pending;
    this.#pending = undefined;
    const now = performance.now();
    const writes = this.#parts.flatMap((part, index) =>
      part.isChanged ? [this.#writeOf(part, index, now)] : [],
    );
    try {
      await this.link.put(writes, true);
      return true;
    } catch {
      // The levels themselves say it once the store is back.
      for (const group of groups) if (group.level.raised && group.by === this.name) group.isAhead = true;
      return false;
    }
  }

  #writeOf(part: Part, index: number, now: number): SlotWrite {
    part.isChanged = false;
    const groups: string[] = [];
    const ends: number[] = [];
    for (const group of part.groups) {
      if (group.level.raised && group.by === this.name) {
        groups.push(group.name);
        ends.push(group.level.until);
      } else this.#leave(group, part);
    }
    return { name: `${ENDS}${this.name}/${index}`, ...endsValue(groups, ends, now) };
  }

  #partFor(group: Group): Part {
    const known = this.#partOf.get(group);
    if (known !== undefined) return known;
    const part = this.#parts.find(({ groups }) => groups.size < IN_ONE) ?? {
      groups: new Set(),
      isChanged: true,
    };
    if (!this.#parts.includes(part)) this.#parts.push(part);
    part.groups.add(group);
    this.#partOf.set(group, part);
    return part;
  }

  #leave(group: Group, part: Part): void {
    part.groups.delete(group);
    this.#partOf.delete(group);
  }
}
