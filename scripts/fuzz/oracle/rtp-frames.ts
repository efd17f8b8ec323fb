/** A frame, as far as it decides whether it can be used: places of its packets in the stream. */
export interface Sendable {
  isKey: boolean;
  /** Without anything of the picture. */
  head: readonly number[];
  body: readonly number[];
}

/**
 * The frames that a receiver can make of a stream of which packets are missing: from a key frame that is whole to the first
 * gap, and so on. What stands before a key frame and is missing was told before. Sound is made of key frames alone.
 */
export function usableFrames<Frame extends Sendable>(
  frames: readonly Frame[],
  missing: ReadonlySet<number>,
): Frame[] {
  const usable: Frame[] = [];
  let isDecodable = false;
  for (const frame of frames) {
    const isWhole = !frame.body.some((index) => missing.has(index));
    const isNext: boolean = isDecodable && !frame.head.some((index) => missing.has(index));
    isDecodable = isWhole && (frame.isKey || isNext);
    if (isDecodable) usable.push(frame);
  }
  return usable;
}
