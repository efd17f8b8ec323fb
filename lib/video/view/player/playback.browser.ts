import { type Asking, Feed, fetchVideo, mediaSourceKind, PlayFailure } from './feed.browser';

interface PlaybackOptions extends Asking {
  isLive: boolean;
  url: string;
  /** Address of the finished clip, where there is one. */
  clipUrl?: string | undefined;
  /** Called where *play* opens the video. */
  onOpen: () => void;
  onChange: () => void;
  onFailure: (failure: PlayFailure) => void;
}

/** One video with the controls of the browser: the recording, which is fetched once and replayed, or live video. */
export class Playback {
  readonly video = document.createElement('video');
  /** True before the first *play*, and after a failure: there is nothing for the controls of the browser. */
  isIdle = true;
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
    for (const name of ['progress', 'loadeddata', 'waiting'])
      video.addEventListener(name, () => this.#skipGap());
    // Live video that was paused.
    video.addEventListener('play', () => this.#openAgain());
    video.addEventListener('playing', () => {
      this.isOpening = false;
      options.onChange();
    });
    video.addEventListener('pause', () => this.#paused());
    video.addEventListener('ended', () => this.#again());
    video.addEventListener('error', () => this.#broke());
  }

  get isPlaying(): boolean {
    return !this.isOpening && !this.video.paused;
  }

  play(): void {
    if (!this.#isOpen) this.#open();
    if (!this.isIdle) this.video.play().catch((reason: unknown) => this.#playedNot(reason));
  }

  /** Shows a picture in place of the video, until it is played again. */
  showPoster(url: string): void {
    this.close();
    this.video.poster = url;
    this.video.removeAttribute('src');
    this.video.load();
  }

  /** Hides it for now: pauses, and stops fetching unless all data have arrived. */
  leave(): void {
    this.video.pause();
    if (!this.#isComplete) this.close();
  }

  /** Stops fetching. */
  close(): void {
    this.#feed?.stop();
    this.#clip?.abort();
    this.#leaveEdge();
    this.#feed = undefined;
    this.#clip = undefined;
    this.#isComplete = false;
    this.isOpening = false;
  }

  get #isOpen(): boolean {
    return this.#feed !== undefined || this.#clip !== undefined;
  }

  #openAgain(): void {
    if (!this.#isOpen && !this.isIdle) this.play();
  }

  #open(): void {
    const { clipUrl, isLive, onOpen, onChange } = this.options;
    const kind = mediaSourceKind();
    this.isIdle = false;
    this.isOpening = true;
    onOpen();
    if (kind !== undefined) this.#openFeed(kind);
    else if (clipUrl !== undefined) void this.#openClip(clipUrl);
    else this.#fail(new PlayFailure('PLAYBACK'));
    if (isLive) this.#leaveEdge = keepAtEdge(this.video);
    onChange();
  }

  #openFeed(kind: typeof MediaSource): void {
    const { url, isLive, headers } = this.options;
    this.#feed = new Feed(
      this.video,
      {
        url,
        isLive,
        ...(headers && { headers }),
        onComplete: () => (isLive ? this.#fail(new PlayFailure('ENDED')) : this.#completed()),
        onFailure: (failure) => this.#fail(failure),
      },
      kind,
    );
  }

  async #openClip(clipUrl: string): Promise<void> {
    const clip = new AbortController();
    this.#clip = clip;
    try {
      this.video.src = await finishedClip(clipUrl, this.options, clip.signal);
      this.#completed();
      this.play();
    } catch (error) {
      if (clip.signal.aborted) return;
      this.#fail(error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED'));
    }
  }

  #completed(): void {
    this.#isComplete = true;
    this.options.onChange();
  }

  /** Live video is closed instead of paused: playing again shows the current picture. */
  #paused(): void {
    this.isIdle ||= this.isOpening;
    if (this.options.isLive || this.isOpening) this.close();
    this.options.onChange();
  }

  #fail(failure: PlayFailure): void {
    this.video.pause();
    this.close();
    this.isIdle = true;
    this.options.onFailure(failure);
  }

  /** The element cannot read its data. An element without a source reports an error, too, which is ignored. */
  #broke(): void {
    if (this.#isOpen) this.#fail(new PlayFailure('PLAYBACK'));
  }

  #again(): void {
    const { buffered } = this.video;
    if (this.options.isLive) return;
    this.video.currentTime = buffered.length > 0 ? buffered.start(0) : 0;
    this.play();
  }

  /** Without a click before, browsers only allow muted playback. */
  #playedNot(reason: unknown): void {
    const isForbidden = reason instanceof DOMException && reason.name === 'NotAllowedError';
    if (!isForbidden || this.video.muted) return;
    this.video.muted = true;
    this.video.play().catch(() => this.options.onChange());
  }

  /** Skips gaps where packets were lost and before the first picture: players would wait there for ever. */
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
 * The whole recording, for browsers without streaming. The first byte is fetched before, because a video element does not
 * report why there is no video.
 * @returns the address to play
 * @throws PlayFailure; the reason of the signal
 */
async function finishedClip(url: string, asking: Asking, signal: AbortSignal): Promise<string> {
  // An element sends no headers: a file that needs headers is fetched whole.
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

/** Target lag behind the newest picture in seconds, where pictures arrive evenly. */
const AIM = 0.25;
/** Seconds by which the target grows after each stall, and its maximum. */
const GROWTH = 0.1;
const MOST = 1.5;
/** Seconds by which the target shrinks in each second without a stall. */
const SHRINKING = 0.005;
/** Seconds beyond the target from which playback runs slightly faster, which viewers do not notice. */
const FASTER_BEYOND = 0.1;
const FASTER = 1.1;
/** Seconds beyond the target from which playback jumps. */
const JUMP_BEYOND = 0.65;

interface EdgeState {
  /** End of the received video in seconds. */
  end: number;
  playhead: number;
  rate: number;
}

/** The next step to stay at the newest picture: a jump to a time, or a playback rate. */
export type EdgeStep = { jumpTo: number } | { rate: number };

/**
 * Chooses the lag behind the newest picture: as short as playback allows. Few pictures per second, B-frames and uneven networks
 * need more.
 */
export class LiveEdge {
  #aim = AIM;

  /** Notes time without a stall, in seconds. */
  passed(seconds: number): void {
    this.#aim = Math.max(AIM, this.#aim - seconds * SHRINKING);
  }

  /** Notes a stall: the next picture was missing. */
  stood(): void {
    this.#aim = Math.min(MOST, this.#aim + GROWTH);
  }

  step({ end, playhead, rate }: EdgeState): EdgeStep {
    const lag = end - playhead;
    if (lag > this.#aim + JUMP_BEYOND || lag < 0) return { jumpTo: end - this.#aim };
    if (lag > this.#aim + FASTER_BEYOND) return { rate: FASTER };
    // Between both limits the rate stays, which prevents oscillation.
    return { rate: lag <= this.#aim ? 1 : rate };
  }
}

/** Interval of the check in seconds. */
const EVERY = 0.1;

/** Keeps a video at its newest picture while it plays. @returns ends that */
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
  // `waiting` before the first picture or during a jump is no stall.
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
