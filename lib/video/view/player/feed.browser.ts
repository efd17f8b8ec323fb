import { codecNames, PlayFailure } from './failure.browser';
import { fetchVideo, type Asking } from './fetch-video.browser';
import { attachSource } from './media-source.browser';
import { SourceWriter } from './source-writer.browser';

export interface FeedOptions extends Asking {
  url: string;
  isLive: boolean;
  /** The media type of what comes, before its first picture. */
  onType: (mimeType: string) => void;
  /** All of it has come. */
  onComplete: () => void;
  onFailure: (failure: PlayFailure) => void;
}

/** Fragmented MP4 on its way from the server into a video element. */
export class Feed {
  readonly #ending = new AbortController();
  readonly #detach: () => void;

  /** Begins at once: a browser lets a video play where its source was set by a click. */
  constructor(
    private readonly video: HTMLVideoElement,
    private readonly options: FeedOptions,
    private readonly kind: typeof MediaSource,
  ) {
    const { source, opened, detach } = attachSource(video, kind);
    this.#detach = detach;
    void this.#run(source, opened);
  }

  /** Ends the stream, and with it the camera's session. What has come can still be seen. */
  stop(): void {
    this.#ending.abort();
    this.#detach();
  }

  async #run(source: MediaSource, opened: Promise<void>): Promise<void> {
    const { signal } = this.#ending;
    try {
      await this.#fill(source, opened);
      // What nothing could be made of was no video.
      if (this.video.buffered.length === 0) throw new PlayFailure('PLAYBACK');
      if (source.readyState === 'open' && !signal.aborted) source.endOfStream();
      if (!signal.aborted) this.options.onComplete();
    } catch (error) {
      if (signal.aborted) return;
      // The place at the server is given back.
      this.stop();
      // What a stream breaks off with has no code.
      this.options.onFailure(error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED'));
    }
  }

  async #fill(source: MediaSource, opened: Promise<void>): Promise<void> {
    const { url, isLive } = this.options;
    const { signal } = this.#ending;
    const response = await fetchVideo(url, this.options, signal);
    const mimeType = response.headers.get('Content-Type') ?? '';
    if (!this.kind.isTypeSupported(mimeType)) throw new PlayFailure('CODEC', codecNames(mimeType));
    this.options.onType(mimeType);
    await opened;
    signal.throwIfAborted();
    const writer = new SourceWriter(this.video, source.addSourceBuffer(mimeType), signal);
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      await writer.append(read.value);
      if (isLive) await writer.tidy();
    }
  }
}
