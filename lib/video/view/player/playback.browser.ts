import { PlayFailure } from './failure.browser';
import { Feed } from './feed.browser';
import type { Asking } from './fetch-video.browser';
import { finishedClip } from './finished-clip.browser';
import { keepAtEdge } from './live-edge.browser';
import { mediaSourceKind } from './media-source.browser';

export interface PlaybackOptions extends Asking {
  isLive: boolean;
  url: string;
  /** Of a finished file, where there is one. */
  clipUrl?: string | undefined;
  /** Length that is expected; 0 for what is live. */
  seconds: number;
  onChange: () => void;
  onFailure: (failure: PlayFailure) => void;
}

/** What a video element tells that changes what is to be seen of it. */
const TELLING = ['play', 'pause', 'playing', 'waiting', 'timeupdate', 'progress', 'seeked', 'volumechange'];

/** One video: the recording, which is fetched once and then shown again and again, or what the camera sees now. */
export class Playback {
  readonly video = document.createElement('video');
  hasSound = false;
  /** True from *play* until the first picture. */
  isOpening = false;
  #feed: Feed | undefined;
  #clip: AbortController | undefined;
  #isComplete = false;
  #leaveEdge: () => void = () => undefined;

  constructor(private readonly options: PlaybackOptions) {
    const { video } = this;
    video.playsInline = true;
    video.preload = 'none';
    video.tabIndex = -1;
    for (const name of TELLING) video.addEventListener(name, options.onChange);
    for (const name of ['progress', 'loadeddata', 'waiting'])
      video.addEventListener(name, () => this.#skipGap());
    video.addEventListener('playing', () => {
      this.isOpening = false;
      options.onChange();
    });
    video.addEventListener('ended', () => this.#again());
    video.addEventListener('error', () => this.#broke());
  }

  get isPlaying(): boolean {
    return this.isOpening || !this.video.paused;
  }

  /** Seconds from the beginning. */
  get position(): number {
    return Math.max(0, this.video.currentTime - this.#origin);
  }

  /** Seconds; what is expected until all has come. */
  get total(): number {
    const { duration } = this.video;
    const known = Number.isFinite(duration) ? duration - this.#origin : 0;
    return this.#isComplete && known > 0 ? known : Math.max(this.options.seconds, this.#end - this.#origin);
  }

  play(): void {
    const isThere = this.#feed !== undefined || this.#clip !== undefined;
    if (!isThere) this.#open();
    this.video.play().catch((reason: unknown) => this.#playedNot(reason));
    this.options.onChange();
  }

  /** What is live is not held: to go on means to see what is now. */
  pause(): void {
    this.video.pause();
    if (this.options.isLive || this.isOpening) this.close();
    this.options.onChange();
  }

  /** As far as it has come. */
  seek(position: number): void {
    const last = this.#end - this.#origin;
    this.video.currentTime = this.#origin + Math.min(Math.max(0, position), Math.max(0, last - 0.05));
    this.options.onChange();
  }

  /** Not to be looked at for now. What has not come to its end is not fetched any further. */
  leave(): void {
    this.video.pause();
    if (!this.#isComplete) this.close();
  }

  /** Ends what is fetched. */
  close(): void {
    this.#feed?.stop();
    this.#clip?.abort();
    this.#leaveEdge();
    this.#feed = undefined;
    this.#clip = undefined;
    this.#isComplete = false;
    this.isOpening = false;
  }

  get #origin(): number {
    const { buffered } = this.video;
    return this.#feed !== undefined && buffered.length > 0 && !this.options.isLive ? buffered.start(0) : 0;
  }

  get #end(): number {
    const { buffered, duration } = this.video;
    if (this.#clip !== undefined && Number.isFinite(duration)) return duration;
    return buffered.length > 0 ? buffered.end(buffered.length - 1) : 0;
  }

  #open(): void {
    const kind = mediaSourceKind();
    const { clipUrl, isLive } = this.options;
    this.isOpening = true;
    if (kind !== undefined) this.#openFeed(kind);
    else if (clipUrl !== undefined) void this.#openClip(clipUrl);
    else this.#fail(new PlayFailure('PLAYBACK'));
    if (isLive) this.#leaveEdge = keepAtEdge(this.video);
  }

  #openFeed(kind: typeof MediaSource): void {
    const { url, isLive, headers, onChange } = this.options;
    const onType = (mimeType: string): void => {
      this.hasSound = mimeType.includes('mp4a');
      onChange();
    };
    const feed: Feed = new Feed(
      this.video,
      {
        url,
        isLive,
        ...(headers && { headers }),
        onType,
        onComplete: () => (isLive ? this.#fail(new PlayFailure('ENDED')) : this.#completed()),
        onFailure: (failure) => this.#fail(failure),
      },
      kind,
    );
    this.#feed = feed;
  }

  async #openClip(clipUrl: string): Promise<void> {
    const clip = new AbortController();
    this.#clip = clip;
    try {
      this.video.src = await finishedClip(clipUrl, this.options, clip.signal);
      this.hasSound = true;
      this.#completed();
      await this.video.play().catch((reason: unknown) => this.#playedNot(reason));
    } catch (error) {
      if (clip.signal.aborted) return;
      this.#fail(error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED'));
    }
  }

  #completed(): void {
    this.#isComplete = true;
    this.options.onChange();
  }

  #fail(failure: PlayFailure): void {
    this.video.pause();
    this.close();
    this.options.onFailure(failure);
  }

  /** The element cannot read what it has. An element that has no source any more tells of an error, too. */
  #broke(): void {
    if (this.#feed !== undefined || this.#clip !== undefined) this.#fail(new PlayFailure('PLAYBACK'));
  }

  #again(): void {
    if (this.options.isLive) return;
    this.video.currentTime = this.#origin;
    this.video.play().catch((reason: unknown) => this.#playedNot(reason));
  }

  /** Without a click before, browsers let a video play only where it is silent. */
  #playedNot(reason: unknown): void {
    const isForbidden = reason instanceof DOMException && reason.name === 'NotAllowedError';
    if (!isForbidden || this.video.muted) return;
    this.video.muted = true;
    this.video.play().catch(() => this.options.onChange());
  }

  /** Where packets were lost, or before the first picture, there is nothing: players would wait there for ever. */
  #skipGap(): void {
    const { buffered, currentTime, seeking } = this.video;
    if (seeking || this.#feed === undefined) return;
    for (let index = 0; index < buffered.length; index++) {
      if (buffered.start(index) <= currentTime && currentTime < buffered.end(index)) return;
      if (buffered.start(index) > currentTime) {
        this.video.currentTime = buffered.start(index);
        return;
      }
    }
  }
}
