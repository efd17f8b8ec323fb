import type { PlayerTexts } from './settings';

interface FeedOptions extends Asking {
  url: string;
  isLive: boolean;
  /** Called when all data have arrived. */
  onComplete: () => void;
  onFailure: (failure: PlayFailure) => void;
}

/** Transfers fragmented MP4 from the server into a video element. */
export class Feed {
  readonly #ending = new AbortController();
  readonly #detach: () => void;

  /** Starts at once: a browser allows playback where the source is set in a click. */
  constructor(
    private readonly video: HTMLVideoElement,
    private readonly options: FeedOptions,
    private readonly kind: typeof MediaSource,
  ) {
    const { source, opened, detach } = attachSource(video, kind);
    this.#detach = detach;
    void this.#run(source, opened);
  }

  /** Ends the stream, and with it the session of the camera. Data that have arrived can still be shown. */
  stop(): void {
    this.#ending.abort();
    this.#detach();
  }

  async #run(source: MediaSource, opened: Promise<void>): Promise<void> {
    const { signal } = this.#ending;
    try {
      await this.#fill(source, opened);
      // Data that gave no picture were no video.
      if (this.video.buffered.length === 0) throw new PlayFailure('PLAYBACK');
      if (source.readyState === 'open' && !signal.aborted) source.endOfStream();
      if (!signal.aborted) this.options.onComplete();
    } catch (error) {
      if (signal.aborted) return;
      // Releases the viewer permit at the server.
      this.stop();
      // A broken stream has no code.
      this.options.onFailure(error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED'));
    }
  }

  async #fill(source: MediaSource, opened: Promise<void>): Promise<void> {
    const { url, isLive } = this.options;
    const { signal } = this.#ending;
    const response = await fetchVideo(url, this.options, signal);
    const mimeType = response.headers.get('Content-Type') ?? '';
    if (!this.kind.isTypeSupported(mimeType)) throw new PlayFailure('CODEC', codecNames(mimeType));
    await opened;
    signal.throwIfAborted();
    const writer = new SourceWriter(this.video, source.addSourceBuffer(mimeType), signal);
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      await writer.append(read.value);
      if (!isLive) continue;
      // Controls show no time line then. Browsers stutter where the data themselves declare no length.
      if (source.duration !== Infinity) source.duration = Infinity;
      await writer.tidy();
    }
  }
}

/** Options of requests: headers that prove the right, where the address does not. */
export interface Asking {
  headers?: () => Record<string, string>;
}

/** @throws PlayFailure; the reason of the signal */
export async function fetchVideo(
  url: string,
  { headers }: Asking,
  signal: AbortSignal,
  range?: string,
): Promise<Response> {
  const sent = { ...headers?.(), ...(range !== undefined && { Range: range }) };
  const response = await answerTo(url, { headers: sent, signal, cache: 'no-store' });
  if (response.ok) return response;
  throw await failureOf(response);
}

async function answerTo(url: string, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal.aborted) throw error;
    throw new PlayFailure('NETWORK');
  }
}

declare global {
  interface Window {
    /** The only kind on iPhones. */
    ManagedMediaSource?: typeof MediaSource;
  }
}

/** The media source class of the browser; undefined where there is none, or it was disabled. */
export function mediaSourceKind(): typeof MediaSource | undefined {
  return typeof MediaSource === 'undefined' ? window.ManagedMediaSource : MediaSource;
}

/** Sets a media source on the element; data can be appended once `opened` resolves. */
function attachSource(
  video: HTMLVideoElement,
  kind: typeof MediaSource,
): { source: MediaSource; opened: Promise<void>; detach: () => void } {
  const source = new kind();
  // A managed source opens only while remote playback is disabled.
  if (kind === window.ManagedMediaSource) video.disableRemotePlayback = true;
  const url = URL.createObjectURL(source);
  const opened = new Promise<void>((resolve) => {
    source.addEventListener('sourceopen', () => resolve(), { once: true });
  });
  video.src = url;
  return { source, opened, detach: () => URL.revokeObjectURL(url) };
}

/**
 * Seconds behind the playhead that stay buffered of live video, and where the browser has no capacity for a whole recording.
 */
const KEPT_BEHIND = 5;
/** Seconds behind the playhead beyond which live video is removed. */
const MOST_BEHIND = 20;

/** Appends pieces to a source buffer, and removes old data where the buffer is full. */
class SourceWriter {
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

  /** Removes all but the last seconds of live video. */
  async tidy(): Promise<void> {
    await this.#forget(MOST_BEHIND);
  }

  /** @returns whether data were removed */
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

  /** Resolves when the playhead has moved. */
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

/** Why there is no video: a code of the server, or of this player (`CODEC`, `PLAYBACK`, `ENDED`). */
export class PlayFailure extends Error {
  constructor(
    readonly code: string,
    /** Parameter of the message, such as a codec. */
    readonly detail = '',
  ) {
    super(code);
  }
}

/** Codes where a retry, or a picture, would fail the same way. */
const FINAL: ReadonlySet<string> = new Set(['EXPIRED', 'INVALID', 'NOT_ALLOWED', 'DEVICE_NOT_FOUND']);
/** Codes where the video exists, but this browser cannot show it. */
const OF_BROWSER: ReadonlySet<string> = new Set(['CODEC', 'PLAYBACK']);

export function isFinal({ code }: PlayFailure): boolean {
  return FINAL.has(code);
}

export function isOfBrowser({ code }: PlayFailure): boolean {
  return OF_BROWSER.has(code);
}

/** The message for a failure, in the language of the reader. */
export function wordsFor({ code, detail }: PlayFailure, { fault }: PlayerTexts): string {
  const texts = new Map(Object.entries(fault));
  return (texts.get(code) ?? fault.OTHER).replace('__codec__', detail).replace('__code__', code);
}

/** The failure in an error answer of the server. */
async function failureOf(response: Response): Promise<PlayFailure> {
  try {
    const body: unknown = await response.json();
    if (typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string')
      return new PlayFailure(body.code);
  } catch {
    // A proxy has answered with its own text.
  }
  return new PlayFailure(response.status === 504 ? 'TIMEOUT' : 'NETWORK');
}

/** Common names of codecs. */
function codecNames(mimeType: string): string {
  if (/hvc1|hev1/.test(mimeType)) return 'H.265';
  return /avc[13]/.test(mimeType) ? 'H.264' : mimeType;
}
