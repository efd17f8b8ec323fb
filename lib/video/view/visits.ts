import type { ServerResponse } from 'node:http';
import { type Release, Semaphore } from '../../concurrency/semaphore';
import { cancelTokenOf } from '../../concurrency/signals';
import { lenientTimeout, clampTimerMs, cancellable } from '../../concurrency/timers';
import { cancelled, type MediaStream } from '../media';
import type { ViewRight } from './signed-address';

/** Longest time for one stream: whoever still watches then presses *play* once more. Milliseconds. */
export const LONGEST_VISIT = 30 * 60_000;

/** One viewer's stay: its signal tells when it is over, and `end` that it is. */
interface Viewer {
  readonly signal: AbortSignal;
  end(): void;
}

/** What goes on at one place: who is there, and what was made for them. */
export class ViewerSessions<Host extends ViewHost = ViewHost> {
  readonly files = new MediaCache();
  readonly #streams: Semaphore;
  readonly #visits = new Set<AbortController>();
  #making = 0;

  constructor(readonly host: Host) {
    this.#streams = new Semaphore(host.viewers);
  }

  /** A place to watch; undefined where so many watch already. */
  takePlace(): Release | undefined {
    return this.#streams.tryAcquire();
  }

  /** True where no picture or clip can be made now: each is an RTSP session, too, but takes the place of nobody who watches. */
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

  /** Over once the answer is, or its connection, once the time is up, and where the node goes. */
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

  /** Ends all visits. */
  close(): void {
    for (const visit of this.#visits) visit.abort(cancelled());
    this.files.close();
  }
}

type Make = (signal: AbortSignal) => Promise<Buffer>;

interface Kept {
  readonly file: Promise<Buffer>;
  readonly making: AbortController;
  /** Those who wait for it. */
  askers: number;
  /** Of the finished file. */
  bytes: number | undefined;
  timer?: NodeJS.Timeout;
}

interface KeptFilesOptions {
  /** How long a file is kept behind its last use, in milliseconds. Default 60,000. */
  keptMs?: number;
  /** Bytes that are kept in all, the newest file aside. Default 64 MiB. */
  mostBytes?: number;
}

/**
 * Finished clips and pictures, for a while: a player fetches a clip in many pieces, and several viewers want the same, yet each is
 * made once. What nobody waits for any more is not made to its end.
 */
export class MediaCache {
  readonly #kept = new Map<string, Kept>();
  readonly #keptMs: number;
  readonly #mostBytes: number;

  constructor({ keptMs = 60_000, mostBytes = 64 * 1024 * 1024 }: KeptFilesOptions = {}) {
    this.#keptMs = keptMs;
    this.#mostBytes = mostBytes;
  }

  /** Whether it need not be made. */
  has(name: string): boolean {
    return this.#kept.has(name);
  }

  /**
   * The file, made where it is not there, and not being made.
   * @throws what the making throws; CANCELLED, or the `RvmError` that is the reason of the signal
   */
  async get(name: string, make: Make, signal: AbortSignal): Promise<Buffer> {
    const kept = this.#kept.get(name) ?? this.#make(name, make);
    this.#use(name, kept);
    kept.askers += 1;
    try {
      return await cancellable(cancelTokenOf(signal), kept.file);
    } finally {
      kept.askers -= 1;
      if (kept.askers === 0 && kept.bytes === undefined) {
        this.#forget(name, kept);
        kept.making.abort(cancelled());
      }
    }
  }

  /** Ends what is being made, and keeps nothing. */
  close(): void {
    for (const [name, kept] of this.#kept) {
      this.#forget(name, kept);
      kept.making.abort(cancelled());
    }
  }

  #make(name: string, make: Make): Kept {
    const making = new AbortController();
    const kept: Kept = { file: make(making.signal), making, askers: 0, bytes: undefined };
    this.#kept.set(name, kept);
    kept.file.then(
      ({ length }) => {
        kept.bytes = length;
        this.#makeRoom(kept);
      },
      () => this.#forget(name, kept),
    );
    return kept;
  }

  /** The one that was used last stands last. */
  #use(name: string, kept: Kept): void {
    if (this.#kept.get(name) !== kept) return;
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    clearTimeout(kept.timer);
    kept.timer = lenientTimeout(() => {
      if (kept.bytes !== undefined) this.#forget(name, kept);
      else if (kept.askers > 0) this.#use(name, kept);
    }, this.#keptMs);
    kept.timer.unref();
  }

  #makeRoom(newest: Kept): void {
    let bytes = [...this.#kept.values()].reduce((sum, each) => sum + (each.bytes ?? 0), 0);
    for (const [name, each] of this.#kept) {
      if (bytes <= this.#mostBytes) return;
      if (each === newest || each.bytes === undefined) continue;
      bytes -= each.bytes;
      this.#forget(name, each);
    }
  }

  #forget(name: string, kept: Kept): void {
    clearTimeout(kept.timer);
    if (this.#kept.get(name) === kept) this.#kept.delete(name);
  }
}

/** Which of the two videos that a right may open. */
export type ViewPart = 'recorded' | 'live';

/** Where the video of one right comes from. */
export interface ViewSource {
  /** @throws RvmError such as VIDEO_NOT_YET, VIDEO_BUSY; CANCELLED at the abort */
  open(part: { kind: ViewPart }, signal: AbortSignal): Promise<MediaStream>;
  /** A JPEG: of the alarm, or of now where only that may be seen. @throws RvmError such as DECODER_MISSING */
  picture(signal: AbortSignal): Promise<Buffer>;
  /** The part of the recording as an MP4 with fast start. @throws RvmError */
  clip(signal: AbortSignal): Promise<Buffer>;
}

/** Where people watch. */
export interface ViewHost {
  /** How many may watch at a time. */
  viewers: number;
  /** Told why a viewer got nothing, or no more. Viewers are told the code alone. */
  failed?(error: Error): void;
}

/** A node that gives rights, as long as it is deployed. */
export interface ViewNode extends ViewHost {
  /** Opens nothing yet. */
  source(right: ViewRight): ViewSource;
}
