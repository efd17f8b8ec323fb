import { wantedTime } from '../../cloud/functions/rtsp';
import type { RtspSession } from '../../cloud/calls';
import { type Abort, abortOf } from '../../concurrency/signals';
import { unless } from '../../concurrency/timers';
import { RvmError } from '../../error';
import type { MediaStream } from '../media';
import type { Slow, StreamReader } from './stream-reader';
import { Upstream, type MomentClock } from './upstream';
import type { VideoPlaces } from './video-places';
import { cameraOf, type VideoSource } from './video-source';

/** Milliseconds: who wants video from a time so near has no need of a session of its own while that is being opened. */
const SAME_TIME = 1000;

/** Opens a stream at a relay. @param signal ends it */
export type OpenStream = (url: string, signal: AbortSignal, isLive: boolean) => Promise<MediaStream>;

/** A reader of an upstream, and what the service said of its session. */
export interface Joined {
  reader: StreamReader;
  session: RtspSession;
  /** The moment that a picture shows, in milliseconds since 1970. */
  momentOf: (time: number) => number;
  /** Whose clock tells it. */
  clockOf: (time: number) => MomentClock;
}

export interface JoinOptions {
  /** Ends the waiting of this one, not of others who want the same. */
  ending: Abort;
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
export class Upstreams {
  readonly #places: VideoPlaces;
  readonly #open: OpenStream;
  readonly #now: () => number;
  readonly #entries = new Set<Entry>();

  /** @param now wall clock, in milliseconds */
  constructor(places: VideoPlaces, open: OpenStream, now: () => number = Date.now) {
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
  async join(source: VideoSource, { ending, slow }: JoinOptions): Promise<Joined> {
    if (ending.reason !== undefined) throw ending.reason;
    const from = wantedTime(source.wanted);
    const entry = this.#entryFor(source, from) ?? this.#newEntry(source, from);
    entry.waiting += 1;
    try {
      // Without a pause where it is open: its last reader could leave meanwhile.
      const { upstream, session } = entry.opened ?? (await unless(ending, entry.opening));
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
    const leave = await this.#places.take(abortOf(signal), alarmTime);
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
