import type { Abort } from '../../concurrency/abort';
import { FairQueue } from './fair-queue';

/** Of those at work, so many times as many wait. */
const WAITING_FOR_EACH = 4;

/** What asks to be admitted. */
export interface Applicant {
  /** Memory that its body takes, in bytes. */
  bytes: number;
  /** The line in which it waits. */
  line: string;
  /** What ends its waiting; asked for only where it has to wait. */
  ending: () => Abort;
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
