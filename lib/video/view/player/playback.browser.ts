import { type Asking, Feed, fetchVideo, mediaSourceKind, PlayFailure } from './feed.browser';

interface PlaybackOptions extends Asking {
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

/**
 * The whole recording, for browsers that a stream cannot be played through. The first byte is fetched before, for a video element
 * would not tell why there is nothing.
 * @returns the address to play
 * @throws PlayFailure; the reason of the signal
 */
async function finishedClip(url: string, asking: Asking, signal: AbortSignal): Promise<string> {
  // An element sends no headers: what needs them is fetched whole.
  if (asking.headers === undefined) {
    await fetchVideo(url, asking, signal, 'bytes=0-0');
    return url;
  }
  const response = await fetchVideo(url, asking, signal);
  return URL.createObjectURL(await broken(response.blob()));
}

async function broken(blob: Promise<Blob>): Promise<Blob> {
  try {
    return await blob;
  } catch {
    throw new PlayFailure('VIDEO_FAILED');
  }
}

/** Seconds behind the newest picture that are aimed at, where pictures come evenly. */
const AIM = 0.25;
/** Seconds by which that grows when the video stands still for want of pictures, and the most that it grows to. */
const GROWTH = 0.1;
const MOST = 1.5;
/** Seconds by which it shrinks in each second without that. */
const SHRINKING = 0.005;
/** So many seconds beyond the aim it goes faster, so little that nobody sees it. */
const FASTER_BEYOND = 0.1;
const FASTER = 1.1;
/** So many seconds beyond it jumps. */
const JUMP_BEYOND = 0.65;

interface EdgeState {
  /** Seconds of the video, up to which it has come. */
  end: number;
  playhead: number;
  rate: number;
}

/** What keeps a player at the newest picture: a jump to a time, or a rate. */
export type EdgeStep = { jumpTo: number } | { rate: number };

/**
 * How far behind the newest picture a player stays: as little as lets it play. Cameras with few pictures a second, pictures that
 * are shown in another order than they come in, and uneven ways need more.
 */
export class LiveEdge {
  #aim = AIM;

  /** It plays without a standstill for so long, in seconds. */
  passed(seconds: number): void {
    this.#aim = Math.max(AIM, this.#aim - seconds * SHRINKING);
  }

  /** It stood still, because the next picture was not there. */
  stood(): void {
    this.#aim = Math.min(MOST, this.#aim + GROWTH);
  }

  step({ end, playhead, rate }: EdgeState): EdgeStep {
    const lag = end - playhead;
    if (lag > this.#aim + JUMP_BEYOND || lag < 0) return { jumpTo: end - this.#aim };
    if (lag > this.#aim + FASTER_BEYOND) return { rate: FASTER };
    // Between the two it goes on as it did, so that it does not swing.
    return { rate: lag <= this.#aim ? 1 : rate };
  }
}

/** Looks at it this often, in seconds. */
const EVERY = 0.1;

/** Keeps a video at its newest picture, for as long as it plays. Returns the way to end that. */
function keepAtEdge(video: HTMLVideoElement): () => void {
  const edge = new LiveEdge();
  const look = (): void => {
    const { buffered } = video;
    if (buffered.length === 0 || video.seeking || video.paused) return;
    edge.passed(EVERY);
    const end = buffered.end(buffered.length - 1);
    const step = edge.step({ end, playhead: video.currentTime, rate: video.playbackRate });
    if ('rate' in step) video.playbackRate = step.rate;
    else {
      video.playbackRate = 1;
      video.currentTime = Math.max(step.jumpTo, buffered.start(buffered.length - 1));
    }
  };
  // Before the first picture, and while it jumps, it only seems to stand still.
  const stood = (): void => {
    if (video.played.length > 0 && !video.seeking) edge.stood();
  };
  video.addEventListener('waiting', stood);
  const timer = setInterval(look, EVERY * 1000);
  return () => {
    clearInterval(timer);
    video.removeEventListener('waiting', stood);
  };
}
