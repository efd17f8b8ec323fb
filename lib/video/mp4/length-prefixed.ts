import type { VideoFrame } from '../media';

/** Bytes of the length before each NAL unit, as every `avcC` and `hvcC` of ours says. */
const LENGTH = 4;

/** Bytes of a picture as it lies in an MP4. */
export function sizeOf({ nals }: VideoFrame): number {
  return nals.reduce((sum, nal) => sum + LENGTH + nal.length, 0);
}

/** A picture as it lies in an MP4: each NAL unit behind its length (ISO/IEC 14496-15, section 5.2.3). */
export function lengthPrefixed(frame: VideoFrame): Buffer {
  const sample = Buffer.allocUnsafe(sizeOf(frame));
  let at = 0;
  for (const nal of frame.nals) {
    at = sample.writeUInt32BE(nal.length, at);
    at += nal.copy(sample, at);
  }
  return sample;
}
