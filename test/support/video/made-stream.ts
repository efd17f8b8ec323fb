import { setTimeout as delay } from 'node:timers/promises';
import type { RtspWanted } from '../../../lib/cloud/calls';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import type {
  AudioFormat,
  AudioFrame,
  MediaFrame,
  MediaStream,
  RelayStream,
  VideoFormat,
  VideoFrame,
} from '../../../lib/video/media';
import type { VideoSource } from '../../../lib/video/sessions/session-slots';
import type { ViewPart, ViewSource } from '../../../lib/video/view/visits';
import type { EncodedVideo } from './encoded-stream';

/** A client to which each session is granted. @param asked where it notes for what */
export function grantingClient(asked: RtspWanted[] = [], url = 'rtsp://x'): VideoSource['client'] {
  const device = { id: 'gate', name: 'Gate', status: 'online' };
  const relay = { scheme: 'rtsp', host: 'relay.invalid', port: 554 };
  const session = { url, cameraId: 'gate', cameraRemoteId: 'g', relay, device, requests: 1, ms: 1 };
  const openRtsp: VideoSource['client']['openRtsp'] = async (wanted) => {
    asked.push(wanted);
    return { ...session, mode: wanted.mode, quality: wanted.quality };
  };
  return { openRtsp };
}

const BASELINE: VideoFormat = {
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

export const SOUND: AudioFormat = {
  codec: 'aac',
  description: Buffer.from([0x12, 0x10]),
  sampleRate: 44_100,
  channels: 2,
  codecString: 'mp4a.40.2',
};

export function soundAt(time: number): AudioFrame {
  return { kind: 'audio', format: SOUND, data: Buffer.alloc(8), time };
}

/** A stream whose frames a test makes. */
export class MadeStream implements RelayStream {
  leftOut: readonly string[] = [];
  audio: AudioFormat | undefined;
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
    const stream = new MadeStream();
    stream.audio = video?.audio;
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

async function send(stream: MadeStream, { frames }: EncodedVideo, isPaced: boolean): Promise<void> {
  const begin = performance.now();
  for (const frame of frames) {
    if (isPaced) await delay(Math.max(0, begin + frame.time * 1000 - performance.now()));
    if (stream.closed) return;
    stream.send(frame);
  }
  stream.end();
}

const FORMAT: VideoFormat = {
  ...BASELINE,
  parameterSets: [Buffer.from([0x67, 1]), Buffer.from([0x68, 2])],
};

/** Frames that no decoder could read, such as `0K 4 2 1`: in the order of decoding, each by the time at which it is shown; K is a key frame. */
export function madeFrames(times: string, format = FORMAT): VideoFrame[] {
  return times.split(' ').map((text) => {
    const time = Number.parseFloat(text);
    return pictureAt(time, { format, key: text.endsWith('K'), nals: [Buffer.from([1, time])] });
  });
}

/**
 * The same parameter set of Main or Baseline profile without usability information, as many cameras send it: then nothing says
 * how many pictures are decoded before they are shown (ITU-T H.264, section 7.3.2.1.1).
 */
export function withoutUsability(set: Buffer): Buffer {
  const bits = [...set].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let at = 32;
  /** In Exp-Golomb code, signed or not. */
  const skipNumbers = (count: number): void => {
    for (let done = 0; done < count; done += 1) at = 2 * bits.indexOf('1', at) - at + 1;
  };
  const flag = (): boolean => bits[at++] === '1';
  // The last of them: references. Then whether frame numbers may be missing; width, height.
  skipNumbers(5);
  at += 1;
  skipNumbers(2);
  const framesOnly = flag();
  at += framesOnly ? 1 : 2;
  if (flag()) skipNumbers(4);
  const kept = `${bits.slice(0, at)}01`;
  const padded = kept.padEnd(Math.ceil(kept.length / 8) * 8, '0');
  return Buffer.from((padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
