import type { MediaFrame, VideoFrame } from './media';

/** Bytes that objects take, however little is in them: a relay may send pictures of a byte. */
const OF_FRAME = 512;
const OF_NAL = 128;

/** Bytes of memory that a frame takes, to bound what is kept. */
export function costOf(frame: MediaFrame): number {
  if (frame.kind === 'audio') return OF_FRAME + frame.data.length;
  return frame.nals.reduce((sum, nal) => sum + OF_NAL + nal.length, OF_FRAME + formatCostOf(frame));
}

/** Each key frame may bring its own parameter sets, which are there twice. */
function formatCostOf({ key, format }: VideoFrame): number {
  return key ? 2 * format.description.length : 0;
}
