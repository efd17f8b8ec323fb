import type { Camera } from './world';

/** The oldest are forgotten beyond this number. */
const MOST_CLIPS = 2000;

export interface Clip {
  camera: Camera;
  /** Of the alarm, in epoch milliseconds. */
  startedAt: number;
}

/** The clips of alarms by their ids, which nobody can guess. */
export class Clips {
  readonly #clips = new Map<string, Clip>();

  add(id: string, clip: Clip): void {
    this.#clips.set(id, clip);
    const [oldest] = this.#clips.keys();
    if (this.#clips.size > MOST_CLIPS && oldest !== undefined) this.#clips.delete(oldest);
  }

  find(id: string): Clip | undefined {
    return this.#clips.get(id);
  }
}
