import { RvmError } from '../../error';
import { costOf } from '../frame-cost';
import type { VideoFrame } from '../media';
import { ROUNDING } from '../picture/wanted-frame';

/** Bytes from one key frame to the next. */
const LONGEST = 32 * 1024 * 1024;
/** Baseline profiles have no B-frames (ITU-T H.264, annex A.2.1): each picture is shown when it comes. */
export const IN_ORDER = /^avc1\.42/i;

/** How far the pictures were looked through for those of one time: each of them once, however many a relay sends. */
interface Search {
  readonly time: number;
  looked: number;
  highest: number;
  isBeyond: boolean;
  isSettled: boolean;
}

/** What can be decoded together: the pictures from a key frame on, in the order of decoding. */
export class FrameRun {
  readonly #frames: VideoFrame[] = [];
  #bytes = 0;
  #newest = -Infinity;
  #search: Search | undefined;

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
    this.#bytes += costOf(frame);
    if (this.#bytes > LONGEST) throw endless();
    this.#frames.push(frame);
    this.#newest = Math.max(this.#newest, frame.time);
  }

  /** Whether all pictures up to a time are there. With B-frames one that is shown earlier may come after one that is shown later. */
  has(time: number): boolean {
    const [first] = this.#frames;
    if (first === undefined) return false;
    if (time <= first.time || IN_ORDER.test(first.format.codecString)) return this.#newest >= time - ROUNDING;
    return this.#searched(time).isSettled;
  }

  #searched(time: number): Search {
    if (this.#search?.time !== time) this.#search = searchFor(time);
    const search = this.#search;
    for (const frame of this.#frames.slice(search.looked)) look(search, frame);
    search.looked = this.#frames.length;
    return search;
  }
}

function searchFor(time: number): Search {
  return { time, looked: 0, highest: -Infinity, isBeyond: false, isSettled: false };
}

/** B-frames come directly behind the picture that they refer to: one that is newer than it ends them. */
function look(search: Search, frame: VideoFrame): void {
  if (frame.time <= search.highest) return;
  search.isSettled ||= search.isBeyond;
  search.highest = frame.time;
  search.isBeyond = frame.time > search.time + ROUNDING;
}

function endless(): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    'The camera sends more than 32 MB between two key frames: set it to a key frame every few seconds.',
  );
}
