import type { RtspSession } from '../../cloud/calls';
import { parseWantedTime } from '../../cloud/functions/rtsp';
import { type CancelToken, cancelTokenOf } from '../../concurrency/signals';
import { cancellable } from '../../concurrency/timers';
import { RvmError } from '../../error';
import { type AudioFormat, costOf, type MediaFrame, type MediaStream, type RelayStream } from '../media';
import { cameraOf, type SessionSlots, type VideoSource } from './session-slots';

/** Largest number of bytes queued for a reader. */
const MOST = 4 * 1024 * 1024;

/** What happens while a reader is slower than its stream. */
export type Slow = 'stream waits' | 'pictures are left out';

/** The end of a stream: `error` where it broke off. */
interface StreamEnd {
  error?: unknown;
}

/** One of several readers of a stream: closing it does not end the others. */
class StreamReader implements MediaStream {
  #waiting: MediaFrame[];
  /** Bytes of the queued frames that came after the reader joined. */
  #bytes = 0;
  /** True at the beginning and after pictures were left out: decoding needs a key frame. */
  #needsKey: boolean;
  #end: StreamEnd | undefined;
  #wake: () => void = () => undefined;

  /** @param buffered earlier frames from a key frame on. The stream bounds them, so they do not count as queued. */
  constructor(
    private readonly upstream: Upstream,
    private readonly slow: Slow,
    buffered: readonly MediaFrame[],
  ) {
    this.#waiting = [...buffered];
    this.#needsKey = buffered.length === 0;
  }

  get leftOut(): readonly string[] {
    return this.upstream.stream.leftOut;
  }

  get audio(): AudioFormat | undefined {
    return this.upstream.stream.audio;
  }

  /** True while the stream has to wait for this reader. */
  get isFull(): boolean {
    return this.slow === 'stream waits' && this.#bytes > MOST;
  }

  push(frame: MediaFrame): void {
    if (this.#end !== undefined) return;
    if (this.slow === 'pictures are left out' && this.#bytes > MOST) this.#leaveOut();
    if (this.#needsKey && !(frame.kind === 'video' && frame.key)) return;
    this.#needsKey = false;
    this.#waiting.push(frame);
    this.#bytes += costOf(frame);
    this.#wake();
  }

  /** Ends the iteration after the queued frames. */
  end(end: StreamEnd): void {
    this.#end ??= end;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MediaFrame> {
    for (;;) {
      const frames = this.#waiting;
      this.#waiting = [];
      this.#bytes = 0;
      if (frames.length > 0) this.upstream.readerEmptied();
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

  /** Closes the reader and lets its iteration fail. */
  abandon(error: Error): void {
    void this.#leave({ error });
  }

  #leave(end: StreamEnd): Promise<void> {
    this.#waiting = [];
    this.end(end);
    return this.upstream.leave(this);
  }

  #leaveOut(): void {
    this.#waiting = [];
    this.#bytes = 0;
    this.#needsKey = true;
  }
}

/** Bytes of frames cached for later readers. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
/** Milliseconds that the clock of a recording may be before and after the requested time. */
const EARLY = 20_000;
const LATE = 2000;
/** Milliseconds: a sender clock this close to ours shows when packets were sent, not when they were recorded. */
const PRESENT = 3000;
/** Milliseconds: a camera clock that differs by more from ours cannot date a live picture. */
const OFF = 10_000;

/** The clock of a moment: that of the camera or its recording; `here` where that is absent or off. */
export type MomentClock = 'camera' | 'here';

interface UpstreamOptions {
  /** The requested time in milliseconds since 1970; undefined for live video. */
  requestedTime: number | undefined;
  now: () => number;
  /** Called once, when the session is closed. */
  onEnd: () => void;
}

/** One RTSP session, shared by all requests for the same video: a picture, a clip and the views of an alarm. */
class Upstream {
  readonly #readers = new Set<StreamReader>();
  /** Cached frames, from a key frame on. */
  #buffered: MediaFrame[] = [];
  #bufferedBytes = 0;
  #newest: number | undefined;
  /** Time 0 of the stream, in milliseconds since 1970. */
  #zero: { moment: number; clock: MomentClock } | undefined;
  #end: StreamEnd | undefined;
  #closing: Promise<void> | undefined;
  #resume: () => void = () => undefined;
  #started: (end: StreamEnd | undefined) => void = () => undefined;

  constructor(
    readonly stream: RelayStream,
    private readonly options: UpstreamOptions,
  ) {}

  /**
   * Starts reading. Resolves with the first picture.
   * @throws RvmError VIDEO_NOT_YET without a picture (VIDEO_FAILED for live video), and those of the
   *   stream; the session is then closed
   */
  async start(): Promise<void> {
    const started = new Promise<StreamEnd | undefined>((resolve) => {
      this.#started = resolve;
    });
    void this.#pump();
    const end = await started;
    if (end === undefined) return;
    await this.close();
    throw end.error ?? (this.options.requestedTime === undefined ? endedLive() : endedAtOnce());
  }

  /** True with a reader, or once the stream has ended. */
  get isRead(): boolean {
    return this.#readers.size > 0 || this.#end !== undefined;
  }

  /** True once no reader can join: the stream has ended, or the session is being closed. */
  get isOver(): boolean {
    return this.#end !== undefined || this.#closing !== undefined;
  }

  /** The moment of a picture of this stream, in milliseconds since 1970. */
  momentOf(time: number): number {
    this.#zero ??= this.#foundZero(time);
    return this.#zero.moment + time * 1000;
  }

  /** The clock that `momentOf` uses. */
  clockOf(time: number): MomentClock {
    this.#zero ??= this.#foundZero(time);
    return this.#zero.clock;
  }

  /** Whether video from this moment on is available here without waiting. */
  covers(moment: number): boolean {
    if (this.isOver || this.#newest === undefined) return false;
    const [first] = this.#buffered;
    if (first === undefined || this.momentOf(first.time) > moment) return false;
    return this.momentOf(this.#newest) >= moment - 1000;
  }

  /** @param from moment to start at, or at the key frame before it; the newest key frame for live video */
  join(slow: Slow, from?: number): StreamReader {
    const reader = new StreamReader(this, slow, this.#buffered.slice(this.#keyAt(from)));
    this.#readers.add(reader);
    if (this.#end !== undefined) reader.end(this.#end);
    return reader;
  }

  /** Called when a reader has emptied its queue. */
  readerEmptied(): void {
    this.#resume();
  }

  /** Removes a reader. The last one closes the session; resolves when that is done. */
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
    await this.stream.close();
    this.#ended({});
    this.options.onEnd();
  }

  async #pump(): Promise<void> {
    try {
      for await (const frame of this.stream) {
        this.#keep(frame);
        for (const reader of this.#readers) reader.push(frame);
        if (frame.kind === 'video') this.#started(undefined);
        while (this.#mustWait()) await this.#capacity();
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

  #capacity(): Promise<void> {
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
    if (
      isKey(frame) &&
      (this.options.requestedTime === undefined || this.#bufferedBytes > MAX_BUFFERED_BYTES)
    )
      this.#forget();
    this.#buffered.push(frame);
    this.#bufferedBytes += costOf(frame);
    if (this.#bufferedBytes > 2 * MAX_BUFFERED_BYTES) this.#forget();
    if (frame.kind === 'video') this.#newest = Math.max(this.#newest ?? frame.time, frame.time);
  }

  #forget(): void {
    this.#buffered = [];
    this.#bufferedBytes = 0;
  }

  #keyAt(from: number | undefined): number {
    const isBefore = (frame: MediaFrame): boolean => from === undefined || this.momentOf(frame.time) <= from;
    const last = this.#buffered.findLastIndex((frame) => isKey(frame) && isBefore(frame));
    const at = last < 0 ? this.#buffered.findIndex(isKey) : last;
    return at < 0 ? this.#buffered.length : at;
  }

  /**
   * Uses the clock of the sender where it shows when pictures were taken. Many senders report the time of sending: then the
   * recording is assumed to start at the requested time.
   */
  #foundZero(time: number): { moment: number; clock: MomentClock } {
    const { requestedTime, now } = this.options;
    const wallTime = this.stream.wallClock(time);
    const isPresent = wallTime !== undefined && Math.abs(wallTime - now()) <= OFF;
    const zero = (wallTime ?? now()) - time * 1000;
    if (requestedTime === undefined)
      return isPresent ? { moment: zero, clock: 'camera' } : { moment: now() - time * 1000, clock: 'here' };
    if (wallTime === undefined) return { moment: requestedTime, clock: 'camera' };
    const isNear = zero > requestedTime - EARLY && zero < requestedTime + LATE;
    if (isNear && Math.abs(wallTime - now()) > PRESENT) return { moment: zero, clock: 'camera' };
    return { moment: requestedTime, clock: isNear || isPresent ? 'camera' : 'here' };
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

/** Milliseconds: a request for a time this close joins a session that is still being opened. */
const SAME_TIME = 1000;

/** Opens a stream at a relay. @param signal ends it */
export type OpenStream = (url: string, signal: AbortSignal, isLive: boolean) => Promise<RelayStream>;

/** A reader of a shared session, with the service's data of that session. */
export interface Subscription {
  reader: StreamReader;
  session: RtspSession;
  /** The moment of a picture, in milliseconds since 1970. */
  momentOf: (time: number) => number;
  /** The clock that `momentOf` uses. */
  clockOf: (time: number) => MomentClock;
}

export interface JoinOptions {
  /** Ends the wait of this request, not of others for the same video. */
  ending: CancelToken;
  slow: Slow;
}

interface Opened {
  upstream: Upstream;
  session: RtspSession;
}

/** A session that is open or being opened. */
interface Entry {
  readonly source: VideoSource;
  /** Undefined for live video. */
  readonly from: number | undefined;
  readonly opening: Promise<Opened>;
  opened?: Opened;
  readonly controller: AbortController;
  /** Number of requests that wait for the opening. */
  waiting: number;
}

/** The RTSP sessions of a cloud: one for all requests for the same video of a camera. */
export class SharedStreams {
  readonly #entries = new Set<Entry>();

  /** @param now wall clock, in milliseconds */
  constructor(
    private readonly slots: SessionSlots,
    private readonly open: OpenStream,
    private readonly now: () => number = Date.now,
  ) {}

  /** Sessions that are open, or being opened. */
  get count(): number {
    return this.#entries.size;
  }

  /**
   * Joins a session with the wanted video, or opens one. Resolves with its first picture.
   * @throws RvmError VIDEO_BUSY, VIDEO_NOT_YET where the relay has no picture, and those of the session and
   *   of the relay
   */
  async join(source: VideoSource, { ending, slow }: JoinOptions): Promise<Subscription> {
    if (ending.reason !== undefined) throw ending.reason;
    const from = parseWantedTime(source.wanted);
    const entry = this.#entryFor(source, from) ?? this.#newEntry(source, from);
    entry.waiting += 1;
    try {
      // No `await` where the session is open: its last reader could close it meanwhile.
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
    requestedTime: number | undefined,
    signal: AbortSignal,
    ended: () => void,
  ): Promise<Opened> {
    const alarmTime = source.wanted.mode === 'event' ? requestedTime : undefined;
    const leave = await this.slots.take(cancelTokenOf(signal), alarmTime);
    const onEnd = (): void => {
      leave();
      ended();
    };
    try {
      // No retry here: the job retries transient failures, after its slot has been released.
      const session = await source.client.openRtsp(source.wanted, { signal, once: true });
      const stream = await this.open(session.url, signal, requestedTime === undefined);
      const upstream = new Upstream(stream, { requestedTime, now: this.now, onEnd });
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
