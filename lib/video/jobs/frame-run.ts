import { RvmError } from '../../error';
import { bytesOf } from '../frame-bytes';
import type { VideoFrame } from '../media';
import { ROUNDING } from '../picture/wanted-frame';

/** Bytes from one key frame to the next. */
const LONGEST = 32 * 1024 * 1024;
/** Baseline profiles have no B-frames (ITU-T H.264, annex A.2.1): each picture is shown when it comes. */
const IN_ORDER = /^avc1\.42/i;

/** What can be decoded together: the pictures from a key frame on, in the order of decoding. */
export class FrameRun {
  readonly #frames: VideoFrame[] = [];
  #bytes = 0;
  #newest = -Infinity;

  /** In the order of decoding. */
  get frames(): readonly VideoFrame[] {
    return this.#frames;
  }

  /** When the newest of its pictures is shown. */
  get newest(): number {
    return this.#newest;
  }

  /** @throws RvmError VIDEO_FAILED where there is no end of it */
  add(frame: VideoFrame): void {
    this.#bytes += bytesOf(frame);
    if (this.#bytes > LONGEST) throw endless();
    this.#frames.push(frame);
    this.#newest = Math.max(this.#newest, frame.time);
  }

  /** Whether all pictures up to a time are there. With B-frames one that is shown earlier may come after one that is shown later. */
  has(time: number): boolean {
    const [first] = this.#frames;
    if (first === undefined) return false;
    if (time <= first.time || IN_ORDER.test(first.format.codecString)) return this.#newest >= time - ROUNDING;
    return this.#newest > time + ROUNDING && this.#isSettledBehind(time);
  }

  /** B-frames come directly behind the picture that they refer to: one that is newer than it ends them. */
  #isSettledBehind(time: number): boolean {
    let highest = -Infinity;
    let isBeyond = false;
    for (const frame of this.#frames) {
      if (frame.time <= highest) continue;
      if (isBeyond) return true;
      highest = frame.time;
      isBeyond = highest > time + ROUNDING;
    }
    return false;
  }
}

function endless(): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    'The camera sends more than 32 MB between two key frames: set it to a key frame every few seconds.',
  );
}
