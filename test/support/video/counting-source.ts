import { setTimeout as delay } from 'node:timers/promises';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import type { MediaStream } from '../../../lib/video/media';
import type { ViewPart, ViewSource } from '../../../lib/video/view/visits';
import type { EncodedVideo } from './encoded-stream';
import { MadeStream } from './made-stream';

export interface SourceScript {
  /** Sent by each stream that is opened, to its end; without it a stream waits for what the test sends. */
  video?: EncodedVideo;
  /** In the pace of a camera; else as fast as it is taken. */
  paced?: readonly ViewPart[];
  /** What happens instead. */
  failure?: RvmErrorCode;
  /** What happens to pictures instead. */
  pictureFailure?: RvmErrorCode;
  clip?: Buffer;
  picture?: Buffer;
  /** Streams are opened, and files made, once this is settled. */
  after?: Promise<unknown>;
}

/** Counts what is opened, and what of that is open. */
export class CountingSource implements ViewSource {
  readonly opened: ViewPart[] = [];
  readonly streams: MadeStream[] = [];
  clips = 0;
  pictures = 0;
  /** Files whose making was ended. */
  aborted = 0;

  constructor(readonly script: SourceScript = {}) {}

  get openNow(): number {
    return this.streams.filter(({ closed }) => !closed).length;
  }

  async open({ kind }: { kind: ViewPart }): Promise<MediaStream> {
    this.opened.push(kind);
    await this.script.after;
    this.#failIfTold();
    const { video, paced } = this.script;
    const stream = new SoundedStream(video);
    this.streams.push(stream);
    if (video !== undefined) void send(stream, video, paced?.includes(kind) === true);
    return stream;
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
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    await Promise.race([this.script.after, aborted]);
    if (signal.aborted) throw new RvmError('CANCELLED', 'The view was ended.');
    this.#failIfTold();
    return file;
  }

  #failIfTold(): void {
    const { failure } = this.script;
    if (failure !== undefined) throw new RvmError(failure, `Scripted: ${failure}.`);
  }
}

/** One that announces the sound of its video. */
class SoundedStream extends MadeStream {
  constructor(video: EncodedVideo | undefined) {
    super();
    Object.defineProperty(this, 'audio', { value: video?.audio });
  }
}

async function send(stream: MadeStream, { frames }: EncodedVideo, isPaced: boolean): Promise<void> {
  const begin = performance.now();
  for (const frame of frames) {
    if (isPaced) await delay(Math.max(0, begin + frame.time * 1000 - performance.now()));
    if (stream.closed) return;
    stream.send(frame);
  }
  stream.end();
}
