import type { RtspSession } from '../../cloud/calls';
import { parseWantedTime } from '../../cloud/functions/rtsp';
import { type CancelToken, cancelTokenOf } from '../../concurrency/signals';
import { cancellable } from '../../concurrency/timers';
import { RvmError } from '../../error';
import { type AudioFormat, costOf, type MediaFrame, type MediaStream } from '../media';
import { cameraOf, type SessionSlots, type VideoSource } from './session-slots';

/** Bytes that wait for a reader at most. */
const MOST = 4 * 1024 * 1024;

/** What happens while a reader is slower than its stream. */
export type Slow = 'stream waits' | 'pictures are left out';

/** The stream that several read, as its readers see it. */
interface SharedStream {
  readonly leftOut: readonly string[];
  readonly audio: AudioFormat | undefined;
  readonly lost: number;
  wallClock(time: number): number | undefined;
  /** A reader has taken what had waited for it. */
  hasRoom(): void;
  leave(reader: StreamReader): Promise<void>;
}

/** How a stream ended: `error` where it broke off. */
interface StreamEnd {
  error?: unknown;
}

/** One of those who read a stream together: a stream of its own, whose end is not that of the others. */
class StreamReader implements MediaStream {
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

interface UpstreamOptions {
  /** The time that was asked for, in milliseconds since 1970; undefined for live video. */
  asked: number | undefined;
  now: () => number;
  /** Called once, when nothing is open any more. */
  onEnd: () => void;
}

/** One RTSP session that all read who want the same: a picture, a clip and the views of an alarm. */
class Upstream implements SharedStream {
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

/** Milliseconds: who wants video from a time so near has no need of a session of its own while that is being opened. */
const SAME_TIME = 1000;

/** Opens a stream at a relay. @param signal ends it */
export type OpenStream = (url: string, signal: AbortSignal, isLive: boolean) => Promise<MediaStream>;

/** A reader of an upstream, and what the service said of its session. */
export interface Subscription {
  reader: StreamReader;
  session: RtspSession;
  /** The moment that a picture shows, in milliseconds since 1970. */
  momentOf: (time: number) => number;
  /** Whose clock tells it. */
  clockOf: (time: number) => MomentClock;
}

export interface JoinOptions {
  /** Ends the waiting of this one, not of others who want the same. */
  ending: CancelToken;
  slow: Slow;
}

/** What is open. */
interface Opened {
  upstream: Upstream;
  session: RtspSession;
}

/** An upstream that is open, or being opened. */
interface Entry {
  readonly source: VideoSource;
  /** Undefined for live video. */
  readonly from: number | undefined;
  readonly opening: Promise<Opened>;
  opened?: Opened;
  readonly controller: AbortController;
  /** Those who wait for the opening. */
  waiting: number;
}

/** The RTSP sessions of a cloud: one for all who want the same of a camera. */
export class SharedStreams {
  readonly #places: SessionSlots;
  readonly #open: OpenStream;
  readonly #now: () => number;
  readonly #entries = new Set<Entry>();

  /** @param now wall clock, in milliseconds */
  constructor(places: SessionSlots, open: OpenStream, now: () => number = Date.now) {
    this.#places = places;
    this.#open = open;
    this.#now = now;
  }

  /** Sessions that are open, or being opened. */
  get count(): number {
    return this.#entries.size;
  }

  /**
   * Joins a session that has what is wanted, or opens one, and resolves with its first picture.
   * @throws RvmError VIDEO_BUSY, VIDEO_NOT_YET where the relay has no picture, and those of the session and of the relay
   */
  async join(source: VideoSource, { ending, slow }: JoinOptions): Promise<Subscription> {
    if (ending.reason !== undefined) throw ending.reason;
    const from = parseWantedTime(source.wanted);
    const entry = this.#entryFor(source, from) ?? this.#newEntry(source, from);
    entry.waiting += 1;
    try {
      // Without a pause where it is open: its last reader could leave meanwhile.
      const { upstream, session } = entry.opened ?? (await cancellable(ending, entry.opening));
      return {
        reader: upstream.join(slow, from),
        session,
        momentOf: (time) => upstream.momentOf(time),
        clockOf: (time) => upstream.clockOf(time),
      };
    } finally {
      entry.waiting -= 1;
      if (entry.waiting === 0 && entry.opened?.upstream.isRead !== true) this.#giveUp(entry);
    }
  }

  /** Ends all sessions. Resolves when none is open any more. */
  async close(): Promise<void> {
    const ends = [...this.#entries].map((entry) => {
      entry.controller.abort(cancelled());
      return entry.opening.then(({ upstream }) => upstream.close()).catch(() => undefined);
    });
    await Promise.all(ends);
  }

  #entryFor(source: VideoSource, from: number | undefined): Entry | undefined {
    for (const entry of this.#entries) {
      const isOver = entry.controller.signal.aborted || entry.opened?.upstream.isOver === true;
      if (isOver || !isSame(entry.source, source)) continue;
      if (from === undefined ? entry.from === undefined : covers(entry, from)) return entry;
    }
    return undefined;
  }

  #newEntry(source: VideoSource, from: number | undefined): Entry {
    const controller = new AbortController();
    const ended = (): void => void this.#entries.delete(entry);
    const opening = this.#opened(source, from, controller.signal, ended);
    const entry: Entry = { source, from, controller, waiting: 0, opening };
    opening.then((opened) => (entry.opened = opened), ended);
    this.#entries.add(entry);
    return entry;
  }

  async #opened(
    source: VideoSource,
    asked: number | undefined,
    signal: AbortSignal,
    ended: () => void,
  ): Promise<Opened> {
    const alarmTime = source.wanted.mode === 'event' ? asked : undefined;
    const leave = await this.#places.take(cancelTokenOf(signal), alarmTime);
    const onEnd = (): void => {
      leave();
      ended();
    };
    try {
      // What fails in passing is tried again by whoever waits for the video, with the place given back.
      const session = await source.client.openRtsp(source.wanted, { signal, once: true });
      const stream = await this.#open(session.url, signal, asked === undefined);
      const upstream = new Upstream(stream, { asked, now: this.#now, onEnd });
      await upstream.start();
      return { upstream, session };
    } catch (error) {
      onEnd();
      throw error;
    }
  }

  #giveUp(entry: Entry): void {
    entry.controller.abort(cancelled());
    void entry.opening.then(({ upstream }) => upstream.close()).catch(() => undefined);
  }
}

function isSame(a: VideoSource, b: VideoSource): boolean {
  return (
    a.client === b.client &&
    cameraOf(a.wanted) === cameraOf(b.wanted) &&
    a.wanted.quality === b.wanted.quality &&
    a.wanted.whenOffline === b.wanted.whenOffline
  );
}

function covers({ from, opened }: Entry, wanted: number): boolean {
  if (from === undefined) return false;
  if (opened !== undefined) return opened.upstream.covers(wanted);
  return from <= wanted && wanted - from <= SAME_TIME;
}

function cancelled(): RvmError {
  return new RvmError('CANCELLED', 'The video was given up: nobody wants it any more.');
}
