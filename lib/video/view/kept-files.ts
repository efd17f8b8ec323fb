import { abortOf } from '../../concurrency/signals';
import { lateTimeout, unless } from '../../concurrency/timers';
import { cancelled } from '../cancelled';

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

export interface KeptFilesOptions {
  /** How long a file is kept behind its last use, in milliseconds. Default 60,000. */
  keptMs?: number;
  /** Bytes that are kept in all, the newest file aside. Default 64 MiB. */
  mostBytes?: number;
}

/**
 * Finished clips and pictures, for a while: a player fetches a clip in many pieces, and several viewers want the same, yet each is
 * made once. What nobody waits for any more is not made to its end.
 */
export class KeptFiles {
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
      return await unless(abortOf(signal), kept.file);
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
    kept.timer = lateTimeout(() => {
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
