/** The oldest are forgotten beyond this number. */
const MOST_INCIDENTS = 5000;

/** When something was going on before a camera: by camera, the epoch seconds at which alarms began, in the order in which they came. */
export class Incidents {
  readonly #seconds = new Map<string, number[]>();
  #count = 0;

  /** `at` in epoch milliseconds. */
  add(cameraId: string, at: number): void {
    const list = this.#seconds.get(cameraId) ?? [];
    this.#seconds.delete(cameraId);
    list.push(Math.floor(at / 1000));
    // Put back at the end: the camera whose last alarm is the longest ago stands first.
    this.#seconds.set(cameraId, list);
    this.#count++;
    if (this.#count > MOST_INCIDENTS) this.#forgetOldest();
  }

  /** Epoch seconds of the alarms of a camera, the last one first. */
  of(cameraId: string): readonly number[] {
    return this.#seconds.get(cameraId)?.toReversed() ?? [];
  }

  #forgetOldest(): void {
    const [oldest] = this.#seconds;
    if (oldest === undefined) return;
    const [cameraId, seconds] = oldest;
    seconds.shift();
    this.#count--;
    if (seconds.length === 0) this.#seconds.delete(cameraId);
  }
}
