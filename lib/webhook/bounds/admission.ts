import type { Abort } from '../../concurrency/abort';
import { Places, type Leave } from '../../concurrency/places';

/** Of those at work, so many times as many wait. */
const WAITING_FOR_EACH = 4;

/**
 * Bounds the work under way for one path: at most `capacity` complete requests are judged and stored at a time, four
 * times as many wait in front, in the order in which they came, and the bodies of both together take at most `maxBytes`. Each
 * path has its own, so that one that cannot judge, and holds what comes, keeps nothing of another out.
 */
export class Admission {
  readonly #places: Places;
  #underWay = 0;
  #bytes = 0;

  constructor(
    private readonly capacity: number,
    private readonly maxBytes: number,
  ) {
    this.#places = new Places(capacity);
  }

  /** True while no request is judged, stored or waiting. */
  get isIdle(): boolean {
    return this.#underWay === 0;
  }

  /**
   * Runs `work` once there is a place for it.
   * @param bytes memory that its body takes
   * @param ending what ends its waiting; asked for only where it has to wait
   * @returns false where there was no place
   */
  async admit(bytes: number, ending: () => Abort, work: () => Promise<void>): Promise<boolean> {
    if (this.#bytes + bytes > this.maxBytes) return false;
    this.#underWay += 1;
    this.#bytes += bytes;
    try {
      const leave = this.#places.takeFree() ?? (await this.#wait(ending));
      if (leave === undefined) return false;
      await work().finally(leave);
      return true;
    } finally {
      this.#underWay -= 1;
      this.#bytes -= bytes;
    }
  }

  async #wait(ending: () => Abort): Promise<Leave | undefined> {
    if (this.#places.waiting >= this.capacity * WAITING_FOR_EACH) return undefined;
    return this.#places.take(ending()).catch(() => undefined);
  }
}
