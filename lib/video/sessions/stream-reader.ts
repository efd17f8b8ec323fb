import { costOf } from '../frame-cost';
import type { AudioFormat, MediaFrame, MediaStream } from '../media';

/** Bytes that wait for a reader at most. */
const MOST = 4 * 1024 * 1024;

/** What happens while a reader is slower than its stream. */
export type Slow = 'stream waits' | 'pictures are left out';

/** The stream that several read, as its readers see it. */
export interface SharedStream {
  readonly leftOut: readonly string[];
  readonly audio: AudioFormat | undefined;
  readonly lost: number;
  wallClock(time: number): number | undefined;
  /** A reader has taken what had waited for it. */
  hasRoom(): void;
  leave(reader: StreamReader): Promise<void>;
}

/** How a stream ended: `error` where it broke off. */
export interface StreamEnd {
  error?: unknown;
}

/** One of those who read a stream together: a stream of its own, whose end is not that of the others. */
export class StreamReader implements MediaStream {
  readonly #shared: SharedStream;
  readonly #slow: Slow;
  #waiting: MediaFrame[];
  /** Of what has come since, and waits. */
  #bytes = 0;
  /** At the beginning, and where pictures were left out: nothing can be decoded before the next key frame. */
  #needsKey: boolean;
  #end: StreamEnd | undefined;
  #wake: () => void = () => undefined;

  /** @param kept what came before, from a key frame on: bounded by who keeps it, and not left out, for nobody was slow yet */
  constructor(shared: SharedStream, slow: Slow, kept: readonly MediaFrame[]) {
    this.#shared = shared;
    this.#slow = slow;
    this.#waiting = [...kept];
    this.#needsKey = kept.length === 0;
  }

  get leftOut(): readonly string[] {
    return this.#shared.leftOut;
  }

  get audio(): AudioFormat | undefined {
    return this.#shared.audio;
  }

  get lost(): number {
    return this.#shared.lost;
  }

  /** The stream has to wait for it. */
  get isFull(): boolean {
    return this.#slow === 'stream waits' && this.#bytes > MOST;
  }

  wallClock(time: number): number | undefined {
    return this.#shared.wallClock(time);
  }

  push(frame: MediaFrame): void {
    if (this.#end !== undefined) return;
    if (this.#slow === 'pictures are left out' && this.#bytes > MOST) this.#leaveOut();
    if (this.#needsKey && !(frame.kind === 'video' && frame.key)) return;
    this.#needsKey = false;
    this.#waiting.push(frame);
    this.#bytes += costOf(frame);
    this.#wake();
  }

  /** What waits for it still comes. */
  end(end: StreamEnd): void {
    this.#end ??= end;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MediaFrame> {
    for (;;) {
      const frames = this.#waiting;
      this.#waiting = [];
      this.#bytes = 0;
      if (frames.length > 0) this.#shared.hasRoom();
      yield* frames;
      if (this.#waiting.length > 0) continue;
      if (this.#end !== undefined) {
        if (this.#end.error === undefined) return;
        throw this.#end.error;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): Promise<void> {
    return this.#leave({});
  }

  /** Closes it, and lets the iteration fail. */
  abandon(error: Error): void {
    void this.#leave({ error });
  }

  #leave(end: StreamEnd): Promise<void> {
    this.#waiting = [];
    this.end(end);
    return this.#shared.leave(this);
  }

  #leaveOut(): void {
    this.#waiting = [];
    this.#bytes = 0;
    this.#needsKey = true;
  }
}
