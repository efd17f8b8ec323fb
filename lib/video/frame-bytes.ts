import type { MediaFrame } from './media';

/** Bytes of a frame, and of each of its parts, beyond what was sent: else a bound of bytes would hold millions of tiny ones. */
const OVERHEAD = 128;

/** What a frame costs in memory. */
export function bytesOf(frame: MediaFrame): number {
  const parts = frame.kind === 'audio' ? [frame.data] : frame.nals;
  return parts.reduce((sum, part) => sum + part.length + OVERHEAD, OVERHEAD);
}
