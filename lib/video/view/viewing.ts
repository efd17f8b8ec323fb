import type { ServerResponse } from 'node:http';
import { Places, type Leave } from '../../concurrency/semaphore';
import { timerMs } from '../../concurrency/timers';
import { cancelled } from '../cancelled';
import { KeptFiles } from './kept-files';
import type { ViewHost } from './view-source';

/** Longest time for one stream: whoever still watches then presses *play* once more. Milliseconds. */
export const LONGEST_VISIT = 30 * 60_000;

/** One viewer's stay: its signal tells when it is over, and `end` that it is. */
export interface Visit {
  readonly signal: AbortSignal;
  end(): void;
}

/** What goes on at one place: who is there, and what was made for them. */
export class Viewing<Host extends ViewHost = ViewHost> {
  readonly files = new KeptFiles();
  readonly #streams: Places;
  readonly #visits = new Set<AbortController>();
  #making = 0;

  constructor(readonly host: Host) {
    this.#streams = new Places(host.viewers);
  }

  /** A place to watch; undefined where so many watch already. */
  takePlace(): Leave | undefined {
    return this.#streams.takeFree();
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
  begin(res: ServerResponse, durationMs: number): Visit {
    const visit = new AbortController();
    const abort = (): void => visit.abort(cancelled());
    const timer = setTimeout(abort, timerMs(Math.min(durationMs, LONGEST_VISIT)));
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
