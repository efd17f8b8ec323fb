import type { ServerResponse } from 'node:http';
import { type Release, Semaphore } from '../../concurrency/semaphore';
import { cancelTokenOf } from '../../concurrency/signals';
import { lenientTimeout, clampTimerMs, cancellable } from '../../concurrency/timers';
import { cancelled, type MediaStream } from '../media';
import type { ViewRight } from './signed-address';

/** Longest stream in milliseconds; afterwards the viewer has to press *play* again. */
export const LONGEST_VISIT = 30 * 60_000;

/** One request of a viewer: `signal` aborts it, `end` marks it as answered. */
interface Viewer {
  readonly signal: AbortSignal;
  end(): void;
}

/** The viewers of one node, and the files made for them. */
export class ViewerSessions<Host extends ViewHost = ViewHost> {
  readonly files = new MediaCache();
  readonly #streams: Semaphore;
  readonly #visits = new Set<AbortController>();
  #making = 0;

  constructor(readonly host: Host) {
    this.#streams = new Semaphore(host.viewers);
  }

  /** A permit to watch; undefined where all are taken. */
  acquire(): Release | undefined {
    return this.#streams.tryAcquire();
  }

  /** True where no more files can be made now. Each needs an RTSP session too, but no permit of a viewer. */
  get isMakingMost(): boolean {
    return this.#making >= this.host.viewers;
  }

  async make(file: () => Promise<Buffer>): Promise<Buffer> {
    this.#making += 1;
    try {
      return await file();
    } finally {
      this.#making -= 1;
    }
  }

  /** The signal aborts when the connection closes, when the time is over, and when the node is removed. */
  begin(res: ServerResponse, durationMs: number): Viewer {
    const visit = new AbortController();
    const abort = (): void => visit.abort(cancelled());
    const timer = setTimeout(abort, clampTimerMs(Math.min(durationMs, LONGEST_VISIT)));
    const end = (): void => {
      clearTimeout(timer);
      res.off('close', abort);
      this.#visits.delete(visit);
    };
    this.#visits.add(visit);
    res.once('close', abort);
    if (res.destroyed) abort();
    return { signal: visit.signal, end };
  }

  /** Aborts all requests and clears the files. */
  close(): void {
    for (const visit of this.#visits) visit.abort(cancelled());
    this.files.close();
  }
}

type Make = (signal: AbortSignal) => Promise<Buffer>;

interface CachedFile {
  readonly file: Promise<Buffer>;
  readonly making: AbortController;
  /** Number of requests that wait for it. */
  askers: number;
  /** Size of the finished file; undefined while it is being made. */
  bytes: number | undefined;
  timer?: NodeJS.Timeout;
}

/**
 * Short-term cache of finished clips and pictures: a player fetches a clip in many parts, and several viewers want the same
 * file, yet each is made once. Making a file is aborted when no request waits for it any more.
 */
export class MediaCache {
  readonly #cached = new Map<string, CachedFile>();

  /**
   * @param cacheMs milliseconds that a file stays cached after its last use
   * @param mostBytes largest total of cached bytes, except the newest file
   */
  constructor(
    private readonly cacheMs = 60_000,
    private readonly mostBytes = 64 * 1024 * 1024,
  ) {}

  /** True for a file that is cached or being made. */
  has(name: string): boolean {
    return this.#cached.has(name);
  }

  /**
   * Returns the cached file, joins its making, or starts it.
   * @throws what `make` throws; CANCELLED, or the `RvmError` that is the reason of the signal
   */
  async get(name: string, make: Make, signal: AbortSignal): Promise<Buffer> {
    const cached = this.#cached.get(name) ?? this.#make(name, make);
    this.#use(name, cached);
    cached.askers += 1;
    try {
      return await cancellable(cancelTokenOf(signal), cached.file);
    } finally {
      cached.askers -= 1;
      if (cached.askers === 0 && cached.bytes === undefined) {
        this.#forget(name, cached);
        cached.making.abort(cancelled());
      }
    }
  }

  /** Aborts what is being made and empties the cache. */
  close(): void {
    for (const [name, cached] of this.#cached) {
      this.#forget(name, cached);
      cached.making.abort(cancelled());
    }
  }

  #make(name: string, make: Make): CachedFile {
    const making = new AbortController();
    const cached: CachedFile = { file: make(making.signal), making, askers: 0, bytes: undefined };
    this.#cached.set(name, cached);
    cached.file.then(
      ({ length }) => {
        cached.bytes = length;
        this.#evict(cached);
      },
      () => this.#forget(name, cached),
    );
    return cached;
  }

  /** The most recently used file is last in the map. */
  #use(name: string, cached: CachedFile): void {
    if (this.#cached.get(name) !== cached) return;
    this.#cached.delete(name);
    this.#cached.set(name, cached);
    clearTimeout(cached.timer);
    cached.timer = lenientTimeout(() => {
      if (cached.bytes !== undefined) this.#forget(name, cached);
      else if (cached.askers > 0) this.#use(name, cached);
    }, this.cacheMs);
    cached.timer.unref();
  }

  #evict(newest: CachedFile): void {
    let bytes = [...this.#cached.values()].reduce((sum, each) => sum + (each.bytes ?? 0), 0);
    for (const [name, each] of this.#cached) {
      if (bytes <= this.mostBytes) return;
      if (each === newest || each.bytes === undefined) continue;
      bytes -= each.bytes;
      this.#forget(name, each);
    }
  }

  #forget(name: string, cached: CachedFile): void {
    clearTimeout(cached.timer);
    if (this.#cached.get(name) === cached) this.#cached.delete(name);
  }
}

/** The two kinds of video that a right may open. */
export type ViewPart = 'recorded' | 'live';

/** The video of one right. */
export interface ViewSource {
  /** @throws RvmError such as VIDEO_NOT_YET, VIDEO_BUSY; CANCELLED at the abort */
  open(part: { kind: ViewPart }, signal: AbortSignal): Promise<MediaStream>;
  /**
   * A JPEG of the alarm, or a live one where only live video may be seen.
   * @throws RvmError such as DECODER_MISSING
   */
  picture(signal: AbortSignal): Promise<Buffer>;
  /** The span of the recording as an MP4 with fast start. @throws RvmError */
  clip(signal: AbortSignal): Promise<Buffer>;
}

/** The host of viewers. */
export interface ViewHost {
  /** Largest number of viewers at a time. */
  viewers: number;
  /** Called with the reason why a viewer got no video, or no more. Viewers only get the code. */
  failed?(error: Error): void;
}

/** A node that grants rights while it is deployed. */
export interface ViewNode extends ViewHost {
  /** Returns the video of a right without opening it. */
  source(right: ViewRight): ViewSource;
}
