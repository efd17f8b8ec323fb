import type { AudioFormat, MediaFrame, MediaStream, VideoFormat, VideoFrame } from '../../../lib/video/media';

export const BASELINE: VideoFormat = {
  codec: 'h264',
  parameterSets: [],
  width: 320,
  height: 180,
  codecString: 'avc1.42C015',
  description: Buffer.alloc(0),
};
export const MAIN: VideoFormat = { ...BASELINE, codecString: 'avc1.4D401F' };

export function pictureAt(time: number, options: Partial<VideoFrame> = {}): VideoFrame {
  return { kind: 'video', format: BASELINE, key: false, nals: [Buffer.from([0x41])], time, ...options };
}

export function keyAt(time: number, options: Partial<VideoFrame> = {}): VideoFrame {
  return pictureAt(time, { key: true, ...options });
}

/** A stream whose frames a test makes. */
export class MadeStream implements MediaStream {
  leftOut: readonly string[] = [];
  audio: AudioFormat | undefined;
  readonly lost = 0;
  /** Frames that were taken from it. */
  taken = 0;
  closed = false;
  /** Its own clock at time 0. */
  clock: number | undefined;
  readonly #frames: MediaFrame[] = [];
  #end: { error?: Error } | undefined;
  #wake: () => void = () => undefined;
  #farewell: Promise<void> = Promise.resolve();

  wallClock(time: number): number | undefined {
    return this.clock === undefined ? undefined : this.clock + time * 1000;
  }

  send(...frames: MediaFrame[]): void {
    this.#frames.push(...frames);
    this.#wake();
  }

  end(error?: Error): void {
    this.#end ??= { ...(error && { error }) };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MediaFrame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) {
        this.taken += 1;
        yield frame;
        continue;
      }
      if (this.#end?.error !== undefined) throw this.#end.error;
      if (this.#end !== undefined) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Its relay takes its time at the end. @returns what lets it end */
  closeSlowly(): () => void {
    let farewell = (): void => undefined;
    this.#farewell = new Promise((resolve) => {
      farewell = resolve;
    });
    return () => farewell();
  }

  close(): Promise<void> {
    this.closed = true;
    this.end();
    return this.#farewell;
  }
}
