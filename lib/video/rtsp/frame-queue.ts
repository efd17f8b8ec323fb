import { costOf } from '../frame-cost';
import type { MediaFrame } from '../media';
import type { StreamLimits } from './limits';

interface Waiting {
  resolve: (result: IteratorResult<MediaFrame, undefined>) => void;
  reject: (error: Error) => void;
}

const DONE: IteratorResult<MediaFrame, undefined> = { done: true, value: undefined };

/** Frames on their way to their consumer, who comes for them. */
export class FrameQueue {
  readonly #limits: StreamLimits;
  readonly #frames: MediaFrame[] = [];
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #hasEnded = false;
  #failure: Error | undefined;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Whether so much waits that nothing more should be added. */
  get isFull(): boolean {
    return this.#holds(1);
  }

  /** Whether there is room again for a good part. */
  get hasRoom(): boolean {
    return !this.#holds(0.5);
  }

  push(frame: MediaFrame): void {
    if (this.#hasEnded) return;
    const first = this.#waiting.shift();
    if (first !== undefined) return first.resolve({ done: false, value: frame });
    this.#frames.push(frame);
    this.#bytes += costOf(frame);
  }

  /** What waits is still to be had, and after it the end or the failure. */
  end(failure?: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#failure = failure;
    for (const waiting of this.#waiting.splice(0)) {
      if (this.#failure === undefined) waiting.resolve(DONE);
      else waiting.reject(this.#takeFailure(this.#failure));
    }
  }

  /** Nothing of what waits is wanted any more. */
  clear(): void {
    this.#frames.length = 0;
    this.#bytes = 0;
  }

  /** The next frame, as soon as there is one. @throws the failure, once all frames before it were had */
  next(): Promise<IteratorResult<MediaFrame, undefined>> {
    const frame = this.#frames.shift();
    if (frame !== undefined) {
      this.#bytes -= costOf(frame);
      return Promise.resolve({ done: false, value: frame });
    }
    if (this.#failure !== undefined) return Promise.reject(this.#takeFailure(this.#failure));
    if (this.#hasEnded) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** It is told once, as iterators do. */
  #takeFailure(failure: Error): Error {
    this.#failure = undefined;
    return failure;
  }

  #holds(part: number): boolean {
    const { queuedFrames, queuedBytes } = this.#limits;
    return this.#frames.length >= queuedFrames * part || this.#bytes >= queuedBytes * part;
  }
}
