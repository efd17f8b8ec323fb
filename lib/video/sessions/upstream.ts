import { RvmError } from '../../error';
import { costOf } from '../frame-cost';
import type { AudioFormat, MediaFrame, MediaStream } from '../media';
import { StreamReader, type SharedStream, type Slow, type StreamEnd } from './stream-reader';

/** Bytes of pictures that are kept for those who come later. */
const KEPT = 4 * 1024 * 1024;
/** Milliseconds that a recording's own clock may be before and after the time that was asked for. */
const EARLY = 20_000;
const LATE = 2000;
/** Milliseconds: a clock so near to ours tells when the packets were sent. */
const PRESENT = 3000;
/** Milliseconds: a camera whose clock is further off ours has none that a picture of now may be dated by. */
const OFF = 10_000;

/** Whose clock a moment is told by: that of the camera, or of its recording; ours where that is absent, or off. */
export type MomentClock = 'camera' | 'here';

export interface UpstreamOptions {
  /** The time that was asked for, in milliseconds since 1970; undefined for live video. */
  asked: number | undefined;
  now: () => number;
  /** Called once, when nothing is open any more. */
  onEnd: () => void;
}

/** One RTSP session that all read who want the same: a picture, a clip and the views of an alarm. */
export class Upstream implements SharedStream {
  readonly #stream: MediaStream;
  readonly #options: UpstreamOptions;
  readonly #readers = new Set<StreamReader>();
  /** From a key frame on. */
  #kept: MediaFrame[] = [];
  #keptBytes = 0;
  #newest: number | undefined;
  /** Time 0 of the stream, in milliseconds since 1970. */
  #zero: { moment: number; clock: MomentClock } | undefined;
  #end: StreamEnd | undefined;
  #closing: Promise<void> | undefined;
  #resume: () => void = () => undefined;
  #started: (end: StreamEnd | undefined) => void = () => undefined;

  constructor(stream: MediaStream, options: UpstreamOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  get leftOut(): readonly string[] {
    return this.#stream.leftOut;
  }

  get audio(): AudioFormat | undefined {
    return this.#stream.audio;
  }

  get lost(): number {
    return this.#stream.lost;
  }

  wallClock(time: number): number | undefined {
    return this.#stream.wallClock(time);
  }

  /**
   * Begins to read. Resolves with the first picture.
   * @throws RvmError VIDEO_NOT_YET where there is none, of live video VIDEO_FAILED, and those of the stream; then nothing is open any more
   */
  async start(): Promise<void> {
    const started = new Promise<StreamEnd | undefined>((resolve) => {
      this.#started = resolve;
    });
    void this.#pump();
    const end = await started;
    if (end === undefined) return;
    await this.close();
    throw end.error ?? (this.#options.asked === undefined ? endedLive() : endedAtOnce());
  }

  /** Somebody reads it, or has read it to its end. */
  get isRead(): boolean {
    return this.#readers.size > 0 || this.#end !== undefined;
  }

  /** Nobody can join it any more: it has ended, or says good-bye to the relay. */
  get isOver(): boolean {
    return this.#end !== undefined || this.#closing !== undefined;
  }

  /** The moment that a picture of this stream shows, in milliseconds since 1970. */
  momentOf(time: number): number {
    this.#zero ??= this.#foundZero(time);
    return this.#zero.moment + time * 1000;
  }

  /** Whose clock `momentOf` tells that by. */
  clockOf(time: number): MomentClock {
    this.#zero ??= this.#foundZero(time);
    return this.#zero.clock;
  }

  /** Whether one who wants video from this moment on can have it here without waiting. */
  covers(moment: number): boolean {
    if (this.isOver || this.#newest === undefined) return false;
    const [first] = this.#kept;
    if (first === undefined || this.momentOf(first.time) > moment) return false;
    return this.momentOf(this.#newest) >= moment - 1000;
  }

  /** @param from moment that it is to begin at, or shortly before, with a key frame; the newest one there is for live video */
  join(slow: Slow, from?: number): StreamReader {
    const reader = new StreamReader(this, slow, this.#kept.slice(this.#keyAt(from)));
    this.#readers.add(reader);
    if (this.#end !== undefined) reader.end(this.#end);
    return reader;
  }

  hasRoom(): void {
    this.#resume();
  }

  /** Resolves when the session is closed, where it was the last one. */
  async leave(reader: StreamReader): Promise<void> {
    if (!this.#readers.delete(reader)) return;
    this.#resume();
    if (this.#readers.size === 0) await this.close();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    this.#resume();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#stream.close();
    this.#ended({});
    this.#options.onEnd();
  }

  async #pump(): Promise<void> {
    try {
      for await (const frame of this.#stream) {
        this.#keep(frame);
        for (const reader of this.#readers) reader.push(frame);
        if (frame.kind === 'video') this.#started(undefined);
        while (this.#mustWait()) await this.#room();
      }
      this.#ended({});
    } catch (error) {
      this.#ended({ error });
    }
    await this.close();
  }

  #mustWait(): boolean {
    return this.#closing === undefined && [...this.#readers].some((reader) => reader.isFull);
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  #ended(end: StreamEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#started(end);
    for (const reader of this.#readers) reader.end(end);
  }

  #keep(frame: MediaFrame): void {
    if (isKey(frame) && (this.#options.asked === undefined || this.#keptBytes > KEPT)) this.#forget();
    this.#kept.push(frame);
    this.#keptBytes += costOf(frame);
    if (this.#keptBytes > 2 * KEPT) this.#forget();
    if (frame.kind === 'video') this.#newest = Math.max(this.#newest ?? frame.time, frame.time);
  }

  #forget(): void {
    this.#kept = [];
    this.#keptBytes = 0;
  }

  #keyAt(from: number | undefined): number {
    const isBefore = (frame: MediaFrame): boolean => from === undefined || this.momentOf(frame.time) <= from;
    const last = this.#kept.findLastIndex((frame) => isKey(frame) && isBefore(frame));
    const at = last < 0 ? this.#kept.findIndex(isKey) : last;
    return at < 0 ? this.#kept.length : at;
  }

  /**
   * The sender's clock where it tells when the pictures were taken. Many tell when they were sent: then the recording begins
   * at the time that was asked for.
   */
  #foundZero(time: number): { moment: number; clock: MomentClock } {
    const { asked, now } = this.#options;
    const told = this.#stream.wallClock(time);
    const isPresent = told !== undefined && Math.abs(told - now()) <= OFF;
    const zero = (told ?? now()) - time * 1000;
    if (asked === undefined)
      return isPresent ? { moment: zero, clock: 'camera' } : { moment: now() - time * 1000, clock: 'here' };
    if (told === undefined) return { moment: asked, clock: 'camera' };
    const isNear = zero > asked - EARLY && zero < asked + LATE;
    if (isNear && Math.abs(told - now()) > PRESENT) return { moment: zero, clock: 'camera' };
    return { moment: asked, clock: isNear || isPresent ? 'camera' : 'here' };
  }
}

function isKey(frame: MediaFrame): boolean {
  return frame.kind === 'video' && frame.key;
}

function endedAtOnce(): RvmError {
  return new RvmError(
    'VIDEO_NOT_YET',
    'The relay ended the video before its first picture: there is no recording of this time yet, or none at all.',
  );
}

function endedLive(): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    'The relay ended the live video before its first picture; try again, or look at the camera.',
  );
}
