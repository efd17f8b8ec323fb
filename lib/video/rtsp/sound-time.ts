import type { AudioFrame } from '../media';
import type { TrackReceiver } from '../rtp/track-receiver';

/** Seconds: clocks of one sender differ by less, and two that have nothing to do with each other by more. */
const FARTHEST = 10;
/** Seconds by which a report must say otherwise than the one before: less is rounding, and each correction is heard. */
const HEARD = 0.1;

/**
 * Brings sound to the clock of the pictures. Only the reports of the sender tell of one moment in both (RFC 3550, section 6.4.1): the
 * answer to PLAY names the same moment with some servers, and the first packet of each with others. Sound therefore waits for
 * them; without them both are taken to begin as that answer says, or at once.
 */
export class SoundTime {
  readonly #video: TrackReceiver;
  readonly #audio: TrackReceiver;
  /** Seconds that the sound begins after the pictures. */
  #offset = 0;
  /** Whether that was told at all, and by a report. */
  #isTold: boolean;
  #isReported = false;
  /** What waits for the reports; undefined once nothing does any more. */
  #held: AudioFrame[] | undefined = [];
  #last = -Infinity;

  /** @param isOneClock whether both have the same clock already, by the answer to PLAY */
  constructor(video: TrackReceiver, audio: TrackReceiver, isOneClock: boolean) {
    this.#video = video;
    this.#audio = audio;
    this.#isTold = isOneClock;
  }

  /** Sound waits for the reports. */
  get isWaiting(): boolean {
    return this.#held !== undefined && this.#held.length > 0;
  }

  /** The next unit: what can be given now, on the clock of the pictures. */
  add(frame: AudioFrame): AudioFrame[] {
    if (this.#held === undefined) return this.#corrected([frame]);
    this.#held.push(frame);
    return this.reported();
  }

  /** What can be given now that the sender may have reported. */
  reported(): AudioFrame[] {
    return this.#held === undefined || this.#difference() === undefined ? [] : this.release();
  }

  /** All that waits: from now on nothing does. */
  release(): AudioFrame[] {
    const held = this.#held ?? [];
    this.#held = undefined;
    return this.#corrected(held);
  }

  /** Without those that would come before what was given: their time was corrected meanwhile. */
  #corrected(frames: readonly AudioFrame[]): AudioFrame[] {
    this.#follow();
    return frames.flatMap((frame) => {
      const time = frame.time + this.#offset;
      if (time <= this.#last) return [];
      this.#last = time;
      return [{ ...frame, time }];
    });
  }

  #follow(): void {
    const reported = this.#difference();
    if (reported === undefined) return;
    const change = Math.abs(reported - this.#offset);
    if ((this.#isReported && change < HEARD) || (this.#isTold && change > FARTHEST)) return;
    this.#isTold = true;
    this.#isReported = true;
    this.#offset = reported;
  }

  #difference(): number | undefined {
    const [video, audio] = [this.#video.wallClock(0), this.#audio.wallClock(0)];
    return video === undefined || audio === undefined ? undefined : (audio - video) / 1000;
  }
}
