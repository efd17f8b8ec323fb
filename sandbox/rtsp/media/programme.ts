import { FRAMES_PER_SECOND } from '../../scene/frame-rate';
import type { AccessUnit, Footage } from '../../scene/footage';
import { SAMPLES_PER_FRAME, type Sound } from '../../scene/sound';
import type { Subject } from '../../scene/subject';

/** RTP clock of video (RFC 6184, section 5.1; RFC 7798, section 4.1). */
export const VIDEO_CLOCK = 90_000;
export const TICKS_PER_PICTURE = VIDEO_CLOCK / FRAMES_PER_SECOND;

/** What one camera shows, and what it sounds like where it has a microphone. */
export class Programme {
  readonly footage: Footage;
  readonly sound: Sound | undefined;
  readonly #subject: Subject;

  constructor(footage: Footage, sound: Sound | undefined, subject: Subject) {
    this.footage = footage;
    this.sound = sound;
    this.#subject = subject;
  }

  picture(number: number): AccessUnit {
    return this.footage.picture(number, this.#subject);
  }

  /** Number of the first frame of sound that begins at a picture or after it. */
  soundAt(picture: number): number {
    return Math.ceil((picture / FRAMES_PER_SECOND) * (this.sound?.rate ?? 0));
  }

  /** Where a frame of sound lies between the pictures. */
  pictureAt(soundFrame: number): number {
    return (soundFrame / (this.sound?.rate ?? 1)) * FRAMES_PER_SECOND;
  }

  /** Ticks of the sound's clock from a picture to a frame of sound. */
  soundTicks(from: number, soundFrame: number): number {
    const begin = (from / FRAMES_PER_SECOND) * (this.sound?.sampleRate ?? 0);
    return Math.round(soundFrame * SAMPLES_PER_FRAME - begin);
  }
}
