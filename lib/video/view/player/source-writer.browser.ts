import { PlayFailure } from './failure.browser';

/** Seconds behind the playhead that are kept of what is live, and where a browser has no room for a whole recording. */
const KEPT_BEHIND = 5;
/** Seconds behind the playhead from which on what is live is thrown away. */
const MOST_BEHIND = 20;

/** Appends to a source buffer, piece by piece, and makes room where there is none. */
export class SourceWriter {
  constructor(
    private readonly video: HTMLVideoElement,
    private readonly buffer: SourceBuffer,
    private readonly signal: AbortSignal,
  ) {}

  /** @throws PlayFailure PLAYBACK where the browser cannot read it; the reason of the signal */
  async append(piece: Uint8Array<ArrayBuffer>): Promise<void> {
    for (;;) {
      this.signal.throwIfAborted();
      try {
        return await this.#change(() => this.buffer.appendBuffer(piece));
      } catch (error) {
        if (!(error instanceof DOMException) || error.name !== 'QuotaExceededError') throw error;
      }
      if (!(await this.#forget(KEPT_BEHIND))) await this.#played();
    }
  }

  /** Of what is live only the last seconds are kept. */
  async tidy(): Promise<void> {
    await this.#forget(MOST_BEHIND);
  }

  /** @returns whether there was something to forget */
  async #forget(most: number): Promise<boolean> {
    const { buffered } = this.buffer;
    if (buffered.length === 0) return false;
    const [start, until] = [buffered.start(0), this.video.currentTime - KEPT_BEHIND];
    if (this.video.currentTime - start <= most || until <= start) return false;
    await this.#change(() => this.buffer.remove(start, until));
    return true;
  }

  #change(begin: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (): void => end(resolve);
      const failed = (): void => end(() => reject(new PlayFailure('PLAYBACK')));
      const end = (settle: () => void): void => {
        this.buffer.removeEventListener('updateend', done);
        this.buffer.removeEventListener('error', failed);
        settle();
      };
      this.buffer.addEventListener('updateend', done);
      this.buffer.addEventListener('error', failed);
      try {
        begin();
      } catch (error) {
        const isQuota = error instanceof DOMException && error.name === 'QuotaExceededError';
        end(() => reject(isQuota ? error : new PlayFailure('PLAYBACK')));
      }
    });
  }

  /** Until the playhead has moved. */
  #played(): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.video.removeEventListener('timeupdate', end);
        this.signal.removeEventListener('abort', end);
        if (this.signal.aborted) reject(new PlayFailure('ENDED'));
        else resolve();
      };
      this.video.addEventListener('timeupdate', end);
      this.signal.addEventListener('abort', end);
    });
  }
}
