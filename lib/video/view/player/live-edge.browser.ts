/** Seconds behind the newest picture that are aimed at: less stutters where pictures come unevenly. */
const AIM = 0.25;
/** From here on it goes faster, so little that nobody sees it. */
const FASTER_FROM = 0.35;
const FASTER = 1.1;
/** From here on it jumps. */
const JUMP_FROM = 0.9;

/** What keeps a player at the newest picture: a jump to a time, or a rate. */
export type EdgeStep = { jumpTo: number } | { rate: number };

/**
 * What to do, in seconds of the video.
 * @param end of what has come
 */
export function edgeStep(end: number, playhead: number, rate: number): EdgeStep {
  const lag = end - playhead;
  if (lag > JUMP_FROM || lag < 0) return { jumpTo: end - AIM };
  if (lag > FASTER_FROM) return { rate: FASTER };
  // Between the two it goes on as it did, so that it does not swing.
  return { rate: lag <= AIM ? 1 : rate };
}

/** Looks at it this often, in milliseconds. */
const EVERY = 100;

/** Keeps a video at its newest picture, for as long as it plays. Returns the way to end that. */
export function keepAtEdge(video: HTMLVideoElement): () => void {
  const look = (): void => {
    const { buffered } = video;
    if (buffered.length === 0 || video.seeking || video.paused) return;
    const step = edgeStep(buffered.end(buffered.length - 1), video.currentTime, video.playbackRate);
    if ('rate' in step) video.playbackRate = step.rate;
    else {
      video.playbackRate = 1;
      video.currentTime = Math.max(step.jumpTo, buffered.start(buffered.length - 1));
    }
  };
  const timer = setInterval(look, EVERY);
  return () => clearInterval(timer);
}
