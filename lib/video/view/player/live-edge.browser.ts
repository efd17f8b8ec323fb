/** Seconds behind the newest picture that are aimed at, at least: less stutters where pictures come unevenly. */
const AIM = 0.25;
/** Pictures that are kept back where they come so rarely that this is more. */
const PICTURES = 1.5;
/** So many seconds beyond that it goes faster, so little that nobody sees it. */
const FASTER_BEYOND = 0.1;
const FASTER = 1.1;
/** So many seconds beyond it jumps. */
const JUMP_BEYOND = 0.65;

export interface EdgeState {
  /** Seconds of the video, up to which it has come. */
  end: number;
  /** Seconds by which it grew when it grew last: from one picture to the next. */
  interval: number;
  playhead: number;
  rate: number;
}

/** What keeps a player at the newest picture: a jump to a time, or a rate. */
export type EdgeStep = { jumpTo: number } | { rate: number };

export function edgeStep({ end, interval, playhead, rate }: EdgeState): EdgeStep {
  const aim = Math.max(AIM, PICTURES * interval);
  const lag = end - playhead;
  if (lag > aim + JUMP_BEYOND || lag < 0) return { jumpTo: end - aim };
  if (lag > aim + FASTER_BEYOND) return { rate: FASTER };
  // Between the two it goes on as it did, so that it does not swing.
  return { rate: lag <= aim ? 1 : rate };
}

/** Looks at it this often, in milliseconds. */
const EVERY = 100;
/** Longer than this, in seconds, nothing is taken for the time between two pictures. */
const LONGEST_INTERVAL = 2;

/** Keeps a video at its newest picture, for as long as it plays. Returns the way to end that. */
export function keepAtEdge(video: HTMLVideoElement): () => void {
  let [end, interval] = [0, 0];
  const look = (): void => {
    const { buffered } = video;
    if (buffered.length === 0) return;
    const grown = buffered.end(buffered.length - 1) - end;
    end += grown;
    if (grown > 0 && grown < LONGEST_INTERVAL) interval = grown;
    if (video.seeking || video.paused) return;
    const step = edgeStep({ end, interval, playhead: video.currentTime, rate: video.playbackRate });
    if ('rate' in step) video.playbackRate = step.rate;
    else {
      video.playbackRate = 1;
      video.currentTime = Math.max(step.jumpTo, buffered.start(buffered.length - 1));
    }
  };
  const timer = setInterval(look, EVERY);
  return () => clearInterval(timer);
}
