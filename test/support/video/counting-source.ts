import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import type { MediaFrame, MediaStream, VideoFormat, VideoFrame } from '../../../lib/video/media';
import type { Fragments } from '../../../lib/video/view/fragment-answer';
import type { ViewPart, ViewSource } from '../../../lib/video/view/view-source';
import type { FragmentedVideo } from './fragmented-video';

/** Of frames that are fragments already. */
const FORMAT: VideoFormat = {
  codec: 'h264',
  parameterSets: [],
  width: 640,
  height: 360,
  codecString: 'avc1.42C01E',
  description: Buffer.alloc(0),
};

/** A frame whose data is a fragment, for `PassedFragments`. */
export function fragmentFrame(data: Buffer, time: number, key: boolean): VideoFrame {
  return { kind: 'video', format: FORMAT, key, nals: [data], time };
}

/** Lets frames through that are fragments already. */
export class PassedFragments implements Fragments {
  constructor(readonly mimeType: string) {}

  add(frame: MediaFrame): Buffer[] {
    return frame.kind === 'video' ? [...frame.nals] : [frame.data];
  }
}

/** A stream that a test drives. */
export class DrivenStream implements MediaStream {
  readonly leftOut = [];
  readonly audio = undefined;
  readonly lost = 0;
  readonly #frames: MediaFrame[] = [];
  readonly #changed = new EventTarget();
  #ended = false;
  #error: Error | undefined;
  isClosed = false;
  /** Frames that were taken. */
  taken = 0;

  push(...frames: MediaFrame[]): void {
    this.#frames.push(...frames);
    this.#tell();
  }

  end(): void {
    this.#ended = true;
    this.#tell();
  }

  fail(error: Error): void {
    this.#error = error;
    this.#tell();
  }

  wallClock(): number | undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.#tell();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<MediaFrame> {
    for (;;) {
      if (this.isClosed) return;
      const frame = this.#frames.shift();
      if (frame !== undefined) {
        this.taken += 1;
        yield frame;
      } else if (this.#error !== undefined) throw this.#error;
      else if (this.#ended) return;
      else await once(this.#changed, 'change');
    }
  }

  #tell(): void {
    this.#changed.dispatchEvent(new Event('change'));
  }
}

export interface SourceScript {
  /** Sent by each stream that is opened, to its end; without it a stream waits for what the test sends. */
  video?: FragmentedVideo;
  /** In the pace of a camera, which goes on for ever; else as fast as it is taken. */
  paced?: ViewPart[];
  /** What happens instead. */
  failure?: RvmErrorCode;
  /** What happens to pictures instead. */
  pictureFailure?: RvmErrorCode;
  clip?: Buffer;
  picture?: Buffer;
  /** Files are there once this is settled. */
  madeAfter?: Promise<unknown>;
}

/** Counts what is opened, and what of that is open. */
export class CountingSource implements ViewSource {
  readonly opened: ViewPart[] = [];
  readonly streams: DrivenStream[] = [];
  clips = 0;
  pictures = 0;
  /** Files whose making was ended. */
  aborted = 0;

  constructor(readonly script: SourceScript = {}) {}

  get open(): ViewSource['open'] {
    return async ({ kind }) => {
      this.opened.push(kind);
      this.#failIfTold();
      const stream = new DrivenStream();
      this.streams.push(stream);
      const { video } = this.script;
      if (video !== undefined) void this.#send(stream, video, this.script.paced?.includes(kind) === true);
      return stream;
    };
  }

  get openNow(): number {
    return this.streams.filter(({ isClosed }) => !isClosed).length;
  }

  async picture(signal: AbortSignal): Promise<Buffer> {
    this.pictures += 1;
    const { pictureFailure } = this.script;
    if (pictureFailure !== undefined) throw new RvmError(pictureFailure, `Scripted: ${pictureFailure}.`);
    return this.#file(this.script.picture ?? Buffer.from('a picture'), signal);
  }

  async clip(signal: AbortSignal): Promise<Buffer> {
    this.clips += 1;
    return this.#file(this.script.clip ?? Buffer.from('0123456789'), signal);
  }

  async #file(file: Buffer, signal: AbortSignal): Promise<Buffer> {
    signal.addEventListener('abort', () => (this.aborted += 1));
    await Promise.race([
      this.script.madeAfter,
      new Promise((resolve) => signal.addEventListener('abort', resolve)),
    ]);
    if (signal.aborted) throw new RvmError('CANCELLED', 'The view was ended.');
    this.#failIfTold();
    return file;
  }

  #failIfTold(): void {
    const { failure } = this.script;
    if (failure !== undefined) throw new RvmError(failure, `Scripted: ${failure}.`);
  }

  async #send(stream: DrivenStream, video: FragmentedVideo, isPaced: boolean): Promise<void> {
    const { init, fragments, interval } = video;
    const begin = performance.now();
    for (const [index, fragment] of fragments.entries()) {
      if (isPaced) await delay(Math.max(0, begin + index * interval - performance.now()));
      if (stream.isClosed) return;
      const data = index === 0 ? Buffer.concat([init, fragment]) : fragment;
      stream.push(fragmentFrame(data, (index * interval) / 1000, true));
    }
    stream.end();
  }
}
