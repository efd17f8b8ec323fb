import type { VideoFrame } from '../media';

/**
 * Where a session goes on behind another that has stopped within a group of pictures: at the same picture, byte by byte. What the
 * relay says of times does not help: it begins with the key frame before the time that was asked for, and few tell which that is.
 */
export class ClipSeam {
  /** What was taken last, from its key frame on. */
  #key: VideoFrame | undefined;
  #last: VideoFrame | undefined;
  #behindKey = 0;
  /** Pictures of another session behind a key frame that is the same; undefined where it is not. */
  #seen: number | undefined;

  /** In the order of decoding. */
  took(frame: VideoFrame): void {
    this.#behindKey = frame.key ? 0 : this.#behindKey + 1;
    if (frame.key) this.#key = frame;
    this.#last = frame;
    this.#seen = undefined;
  }

  /** Whether a picture of another session, asked of each from its beginning on, is the one that was taken last. */
  isLast(frame: VideoFrame): boolean {
    if (frame.key) this.#seen = isSame(frame, this.#key) ? 0 : undefined;
    else if (this.#seen !== undefined) this.#seen += 1;
    return this.#seen === this.#behindKey && isSame(frame, this.#last);
  }
}

function isSame({ nals }: VideoFrame, other: VideoFrame | undefined): boolean {
  if (nals.length !== other?.nals.length) return false;
  return nals.every((nal, place) => other.nals[place]?.equals(nal));
}
