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

export interface EdgeState {
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
export function keepAtEdge(video: HTMLVideoElement): () => void {
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
