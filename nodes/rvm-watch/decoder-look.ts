import type { NodeAPI } from 'node-red';
import { newDecoder } from '../rvm-cloud/cloud-video';

/** The nodes that make pictures of video. */
const NEED_IT: readonly string[] = ['rvm-get-picture', 'rvm-view'];
/** Between two looks, in milliseconds. */
const LOOK_EVERY = 60_000;

/** Whether there is an ffmpeg, where pictures are to be made. */
export class DecoderLook {
  #isThere: boolean | undefined;
  #lookedAt = -Infinity;

  constructor(private readonly RED: NodeAPI) {}

  /** Undefined where nobody knows yet; true where none is needed. */
  get isThere(): boolean | undefined {
    return this.#isNeeded() ? this.#isThere : true;
  }

  lookInTime(): void {
    if (performance.now() - this.#lookedAt < LOOK_EVERY || !this.#isNeeded()) return;
    this.#lookedAt = performance.now();
    // What keeps it from looking shows with the first picture.
    void this.#look().catch(() => undefined);
  }

  #isNeeded(): boolean {
    let isNeeded = false;
    this.RED.nodes.eachNode(({ id, type }) => {
      isNeeded ||= NEED_IT.includes(type) && Boolean(this.RED.nodes.getNode(id));
    });
    return isNeeded;
  }

  async #look(): Promise<void> {
    const decoder = newDecoder(this.RED);
    this.#isThere = await decoder.available();
    await decoder.close();
  }
}
