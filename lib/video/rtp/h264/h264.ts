import { BitReader } from '../../../bytes';
import { unescaped } from '../bits/unescaped';
import type { NalRole, Slice, VideoCodec } from '../nal/video-codec';
import { H264Unpacker } from './h264-unpacker';
import { readSps } from './h264-sps';
import { NAL, typeOf } from './nal-types';
import { isRecoveryPoint, RECOVERY_UNIT } from './recovery-point';

/** Bytes that hold what we read at the head of a slice. */
const HEAD = 24;
const MOST_PPS = 255;
const MOST_SPS = 31;
/** I, and I alone in the picture (ITU-T H.264, table 7-6). */
const INTRA: readonly number[] = [2, 7];

/** H.264 (ITU-T H.264). */
export const h264: VideoCodec = {
  name: 'h264',
  unpacker: () => new H264Unpacker(),
  roleOf,
  slice: readSlice,
  vps: () => undefined,
  sps: readSps,
  pps: readPps,
  recovery: [RECOVERY_UNIT],
};

function roleOf(nal: Buffer): NalRole {
  const type = typeOf(nal);
  if (type === NAL.slice || type === NAL.idr) return 'slice';
  if (type === NAL.sps) return 'sps';
  if (type === NAL.pps) return 'pps';
  return type === NAL.sei && isRecoveryPoint(nal) ? 'recovery' : 'other';
}

/** Section 7.3.3. */
function readSlice(nal: Buffer): Slice | undefined {
  const reader = new BitReader(unescaped(nal.subarray(0, HEAD)));
  reader.skip(8);
  const isFirst = reader.unsigned() === 0;
  const type = reader.unsigned();
  const pps = reader.unsigned();
  if (reader.exceeded || pps > MOST_PPS) return undefined;
  const entry = typeOf(nal) === NAL.idr ? 'clean' : undefined;
  return { isFirst, pps, entry, isIntra: INTRA.includes(type), isBrokenLink: false, reachesBack: true };
}

/** Section 7.3.2.2. One that is cut short would take the place of a good one. */
function readPps(nal: Buffer): { id: number; sps: number } | undefined {
  const reader = new BitReader(unescaped(nal));
  reader.skip(8);
  const [id, sps] = [reader.unsigned(), reader.unsigned()];
  reader.skip(2);
  const hasGroups = reader.unsigned() > 0;
  if (!hasGroups) {
    for (let references = 0; references < 2; references += 1) reader.unsigned();
    reader.skip(3);
    for (let quantizers = 0; quantizers < 3; quantizers += 1) reader.unsigned();
    reader.skip(3);
  }
  return reader.exceeded || !reader.hasEnd || id > MOST_PPS || sps > MOST_SPS ? undefined : { id, sps };
}
