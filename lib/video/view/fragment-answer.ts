import type { ServerResponse } from 'node:http';
import { RvmError } from '../../error';
import type { MediaFrame, MediaStream } from '../media';
import { begin, limitStandstill, LONGEST_STANDSTILL } from './answer';
import type { ViewPart } from './view-source';

/** Makes fragmented MP4 of frames. */
export interface Fragments {
  /** What is to be sent now. */
  add(frame: MediaFrame): Buffer[];
  /** What is left, where nothing follows. */
  end(): Buffer[];
  /** Media type with the codecs, once there is something to send. */
  readonly mimeType: string;
}

/** Bytes that wait for a slow viewer: some seconds of video. */
const MOST_WAITING = 2 * 1024 * 1024;

/** One viewer's answer: frames as they come, as fragmented MP4. */
export class FragmentAnswer {
  /** Since when frames are left out, until the next key frame that the viewer has room for. */
  #behindSince: number | undefined;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(
    private readonly res: ServerResponse,
    private readonly fragments: Fragments,
    private readonly part: ViewPart,
    private readonly steady: () => number,
  ) {}

  /**
   * Sends until the stream ends, or the viewer goes. The stream is closed then.
   * @param signal ends it at once; the answer is then cut, because its end would say that this was all
   * @throws what the stream throws; RvmError VIDEO_FAILED where nothing came, CANCELLED where the viewer takes nothing
   */
  async send(stream: MediaStream, signal: AbortSignal): Promise<void> {
    const close = (): void => void stream.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      if (!signal.aborted) await this.#sendAll(stream, signal);
    } finally {
      signal.removeEventListener('abort', close);
      await stream.close();
    }
    if (signal.aborted) this.res.destroy();
    else if (!this.res.headersSent)
      throw new RvmError('VIDEO_FAILED', 'The relay ended the video before its first picture: try again.');
    else {
      limitStandstill(this.res);
      this.res.end();
    }
  }

  async #sendAll(stream: MediaStream, signal: AbortSignal): Promise<void> {
    for await (const frame of stream) {
      if (signal.aborted) return;
      if (!this.#isFit(frame)) continue;
      this.#write(this.fragments.add(frame));
      if (this.part === 'recorded' && this.#isBehind) await this.#drained();
    }
    if (!signal.aborted) this.#write(this.fragments.end());
  }

  get #isBehind(): boolean {
    return this.res.writableLength > MOST_WAITING;
  }

  /** Of a recording nothing is left out here: the stream is not asked for more. What is live goes on, from a key frame on. */
  #isFit(frame: MediaFrame): boolean {
    if (this.part === 'recorded') return true;
    if (this.#isBehind) {
      this.#behindSince ??= this.steady();
      if (this.steady() - this.#behindSince > LONGEST_STANDSTILL) throw standstill();
    } else if (frame.kind === 'video' && frame.key) this.#behindSince = undefined;
    return this.#behindSince === undefined;
  }

  #write(pieces: readonly Buffer[]): void {
    if (pieces.length === 0 || this.res.destroyed) return;
    if (!this.res.headersSent) {
      begin(this.res, 200, { 'Content-Type': this.fragments.mimeType, 'X-Accel-Buffering': 'no' });
    }
    for (const piece of pieces) this.res.write(piece);
  }

  #drained(): Promise<void> {
    const { res } = this;
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        res.off('drain', onDrain).off('close', onDrain);
        settle();
      };
      const onDrain = (): void => end(resolve);
      const timer = setTimeout(() => end(() => reject(standstill())), LONGEST_STANDSTILL);
      res.on('drain', onDrain).on('close', onDrain);
      if (res.destroyed) onDrain();
    });
  }
}

function standstill(): RvmError {
  return new RvmError('CANCELLED', 'The view was ended, because the viewer took nothing for 20 s.');
}
