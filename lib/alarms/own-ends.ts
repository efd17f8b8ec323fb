import type { Group } from './group';
import { endsValue } from './slot-form';
import type { SlotWrite } from './slots';
import type { StoreLink } from './store-link';

export const ENDS = 'ends/';
/** Milliseconds between two writings: an extension is durable by then. */
const WRITE_EVERY = 1000;
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
  begin: () => void;
}

/**
 * When the levels end that this instance has extended: written together once a second, for an extension changes nothing else. A write for
 * each would cost more than all the rest.
 */
export class OwnEnds {
  readonly #parts: Part[] = [];
  readonly #partOf = new Map<Group, Part>();
  #pending: Pending | undefined;

  /** @param name of this life of this instance */
  constructor(
    private readonly link: StoreLink,
    private readonly name: string,
  ) {}

  /** The level of a group of this instance ends later now. Resolves with whether that is durable. */
  extended(group: Group): Promise<boolean> {
    this.#partFor(group).isChanged = true;
    this.#pending ??= this.#begin();
    this.#pending.groups.add(group);
    return this.#pending.written;
  }

  /** Whether an end that is known here waits to be durable. */
  pending(group: Group): Promise<boolean> | undefined {
    return this.#pending?.groups.has(group) === true ? this.#pending.written : undefined;
  }

  /** Writes at once what waits. */
  flush(): void {
    this.#pending?.begin();
  }

  #begin(): Pending {
    const groups = new Set<Group>();
    let begin = (): void => undefined;
    const written = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, WRITE_EVERY);
      begin = () => {
        clearTimeout(timer);
        resolve();
      };
    }).then(() => this.#write(groups));
    return { groups, written, begin };
  }

  async #write(groups: ReadonlySet<Group>): Promise<boolean> {
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
    const ends = new Map<string, number>();
    for (const group of part.groups) {
      if (group.level.raised && group.by === this.name) ends.set(group.name, group.level.until);
      else this.#leave(group, part);
    }
    return { name: `${ENDS}${this.name}/${index}`, ...endsValue(ends, now) };
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
