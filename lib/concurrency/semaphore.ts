import { FairQueue } from './fair-queue';
import type { CancelToken } from './signals';

/** What gives a place back, to be called once. */
export type Release = () => void;

/** Where one may have to wait before it goes to work. */
export interface Lock {
  /** Goes to work at once where nobody needs to be waited for; else undefined. */
  tryAcquire: (rank: number) => Release | undefined;
  /** Waits for the turn, or for the abort, whose reason it is rejected with. */
  acquire: (abort: CancelToken, rank: number) => Promise<Release>;
}

/**
 * Bounds how many are at work at a time. The others wait in line, in the order in which they came; those of a lower rank go
 * before all of a higher one. Some places may be kept free for lower ranks, so that what may take long keeps nobody out for whom
 * it counts.
 */
export class Semaphore implements Lock {
  readonly #all: number;
  readonly #kept: readonly number[];
  /** By rank. Not sets: what has left one of those from its front is collected late. */
  readonly #lines: (() => void)[][] = [];
  #taken = 0;

  /** @param kept by rank: of all places, those that it leaves to the ranks before it; none unless said */
  constructor(all: number, kept: readonly number[] = []) {
    this.#all = all;
    this.#kept = kept;
  }

  /** How many wait in line. */
  get waiting(): number {
    return this.#lines.reduce((sum, line) => sum + line.length, 0);
  }

  /**
   * Takes a place that is free now: then nobody waits for it.
   * @returns undefined where none is free
   */
  tryAcquire(rank = 0): Release | undefined {
    if (!this.#isFree(rank)) return undefined;
    this.#taken += 1;
    return () => this.#leave();
  }

  /** Waits for a place, or for the abort, whose reason it is rejected with. */
  acquire(abort: CancelToken, rank = 0): Promise<Release> {
    const line = this.#lineOf(rank);
    return new Promise((resolve, reject) => {
      const start = (): void => {
        stopListening();
        resolve(() => this.#leave());
      };
      line.push(start);
      const stopListening = abort.onAbort((reason) => {
        const place = line.indexOf(start);
        // Started meanwhile, by another that left at the same abort.
        if (place < 0) return;
        line.splice(place, 1);
        reject(reason);
      });
      this.#next();
    });
  }

  #isFree(rank: number): boolean {
    return this.#all - this.#taken > (this.#kept[rank] ?? 0);
  }

  #lineOf(rank: number): (() => void)[] {
    while (this.#lines.length <= rank) this.#lines.push([]);
    return this.#lines[rank] ?? [];
  }

  #leave(): void {
    this.#taken -= 1;
    this.#next();
  }

  #next(): void {
    for (const [rank, line] of this.#lines.entries()) {
      const start = this.#isFree(rank) ? line.shift() : undefined;
      if (start === undefined) continue;
      this.#taken += 1;
      start();
      return;
    }
  }
}

/** Takes a place of each if all are free now, else none. */
export function tryAcquireAll(all: readonly Lock[], rank: number): Release | undefined {
  const taken: Release[] = [];
  for (const places of all) {
    const place = places.tryAcquire(rank);
    if (place === undefined) {
      leaveAll(taken);
      return undefined;
    }
    taken.push(place);
  }
  return () => leaveAll(taken);
}

/** Takes a place of each, one after the other; gives all back where one cannot be had. */
export async function acquireAll(all: readonly Lock[], rank: number, abort: CancelToken): Promise<Release> {
  const taken: Release[] = [];
  try {
    for (const places of all) taken.push(await places.acquire(abort, rank));
    return () => leaveAll(taken);
  } catch (error) {
    leaveAll(taken);
    throw error;
  }
}

function leaveAll(taken: readonly Release[]): void {
  for (const leave of taken) leave();
}

interface Waiting {
  readonly alone: boolean;
  readonly rank: number;
  readonly start: () => void;
}

/**
 * Lets many be at work together, or one alone. The others wait in line, in the order in which they came, those of a lower rank
 * before all of a higher one; who waits to be alone holds up all behind, so that there is an end to those who are together.
 */
export class ReadWriteLock {
  readonly shared: Lock = this.#line(false);
  readonly exclusive: Lock = this.#line(true);
  readonly #waiting: Waiting[] = [];
  #taken = 0;
  #isOneAlone = false;

  #line(alone: boolean): Lock {
    return {
      tryAcquire: () => this.#takeFree(alone),
      acquire: (abort, rank) => this.#take(alone, abort, rank),
    };
  }

  #takeFree(alone: boolean): Release | undefined {
    if (this.#waiting.length > 0 || !this.#isFree(alone)) return undefined;
    return this.#start(alone);
  }

  #take(alone: boolean, abort: CancelToken, rank: number): Promise<Release> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        stopListening();
        resolve(this.#start(alone));
      };
      const mine = { alone, rank, start };
      const behind = this.#waiting.findIndex((other) => other.rank > rank);
      this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, mine);
      const stopListening = abort.onAbort((reason) => {
        const place = this.#waiting.indexOf(mine);
        // Started meanwhile, by another that left at the same abort.
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        reject(reason);
        this.#next();
      });
      this.#next();
    });
  }

  #isFree(alone: boolean): boolean {
    return alone ? this.#taken === 0 : !this.#isOneAlone;
  }

  #start(alone: boolean): Release {
    this.#taken += 1;
    this.#isOneAlone = alone;
    return () => {
      this.#taken -= 1;
      this.#isOneAlone = false;
      this.#next();
    };
  }

  #next(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || !this.#isFree(first.alone)) return;
      this.#waiting.shift();
      first.start();
    }
  }
}

/** Of those at work, so many times as many wait. */
const WAITING_FOR_EACH = 4;

/** What asks to be admitted. */
interface Applicant {
  /** Memory that its body takes, in bytes. */
  bytes: number;
  /** The line in which it waits. */
  line: string;
  /** What ends its waiting; asked for only where it has to wait. */
  ending: () => CancelToken;
}

/**
 * Bounds the work under way for one path: at most `capacity` complete requests are judged and stored at a time, four
 * times as many wait in front, in turns of their lines, and the bodies of both together take at most `maxBytes`. Where more would wait,
 * the longest line loses its last. Each path has its own, so that one that cannot judge, and holds what comes, keeps nothing of
 * another out.
 */
export class Admission {
  readonly #waiting = new FairQueue<(isIn: boolean) => void>();
  #atWork = 0;
  #underWay = 0;
  #bytes = 0;

  constructor(
    private readonly capacity: number,
    private readonly maxBytes: number,
  ) {}

  /** True while no request is judged, stored or waiting. */
  get isIdle(): boolean {
    return this.#underWay === 0;
  }

  /**
   * Runs `work` once there is a place for it.
   * @returns false where there was no place
   */
  async admit(applicant: Applicant, work: () => Promise<void>): Promise<boolean> {
    const { bytes } = applicant;
    if (this.#bytes + bytes > this.maxBytes) return false;
    this.#underWay += 1;
    this.#bytes += bytes;
    try {
      if (this.#atWork < this.capacity) this.#atWork += 1;
      else if (!(await this.#wait(applicant))) return false;
      await work().finally(() => this.#leave());
      return true;
    } finally {
      this.#underWay -= 1;
      this.#bytes -= bytes;
    }
  }

  /** Resolves with true once there is a place, which is taken. */
  #wait({ line, ending }: Applicant): Promise<boolean> {
    return new Promise((resolve) => {
      const enter = (isIn: boolean): void => {
        stopListening();
        resolve(isIn);
      };
      this.#waiting.add(line, enter);
      const stopListening = ending().onAbort(() => {
        this.#waiting.remove(line, enter);
        resolve(false);
      });
      if (this.#waiting.size > this.capacity * WAITING_FOR_EACH) this.#waiting.lastOfLongest()?.(false);
    });
  }

  /** The place goes on to the next. */
  #leave(): void {
    const enter = this.#waiting.next();
    if (enter === undefined) this.#atWork -= 1;
    else enter(true);
  }
}

/** The admissions of all paths, each of them as long as requests of it are under way: paths come and go with their nodes. */
export class Admissions {
  readonly #ofPath = new Map<string, Admission>();

  /** Both for each path, as in `Admission`. */
  constructor(
    private readonly capacity: number,
    private readonly maxBytes: number,
  ) {}

  /** As `Admission.admit`, at a path. */
  async admit(path: string, applicant: Applicant, work: () => Promise<void>): Promise<boolean> {
    const admission = this.#ofPath.get(path) ?? new Admission(this.capacity, this.maxBytes);
    this.#ofPath.set(path, admission);
    try {
      return await admission.admit(applicant, work);
    } finally {
      if (admission.isIdle && this.#ofPath.get(path) === admission) this.#ofPath.delete(path);
    }
  }
}
