import type { AudioFrame } from '../media';
import type { TrackReceiver } from '../rtp/track-receiver';

/**
 * Brings sound to the clock of the pictures. Where the answer to PLAY did not tell where both begin, they are taken to begin at once,
 * until the sender's reports tell better (RFC 3550, section 6.4.1).
 */
export class SoundTime {
  readonly #video: TrackReceiver;
  readonly #audio: TrackReceiver;
  /** Seconds that the sound begins after the pictures; undefined while nobody knows. */
  #offset: number | undefined;
  #last = -Infinity;

  /** @param isOneClock whether both have the same clock already */
  constructor(video: TrackReceiver, audio: TrackReceiver, isOneClock: boolean) {
    this.#video = video;
    this.#audio = audio;
    this.#offset = isOneClock ? 0 : undefined;
  }

  /** @returns undefined for one that would come before the last: its time was corrected meanwhile */
  corrected(frame: AudioFrame): AudioFrame | undefined {
    this.#offset ??= this.#reported();
    const time = frame.time + (this.#offset ?? 0);
    if (time <= this.#last) return undefined;
    this.#last = time;
    return time === frame.time ? frame : { ...frame, time };
  }

  #reported(): number | undefined {
    const [video, audio] = [this.#video.wallClock(0), this.#audio.wallClock(0)];
    return video === undefined || audio === undefined ? undefined : (audio - video) / 1000;
  }
}
