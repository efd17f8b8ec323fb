import { NAL } from './nal-types';

/** What a decoder must be able to do. */
export interface Abilities {
  /** `general_profile_space` to `general_level_idc` (ITU-T H.265, section 7.3.3): twelve bytes. */
  profile: Buffer;
  chromaFormat: number;
  bitDepthLuma: number;
  bitDepthChroma: number;
  temporalLayers: number;
  temporalIdNested: boolean;
}

interface Sets {
  vps: readonly Buffer[];
  sps: Buffer;
  pps: readonly Buffer[];
}

/** Lengths of NAL units in the file have four bytes. */
const LENGTHS = 3;
/** All sets of a kind are in the record, none in the samples. */
const COMPLETE = 0x80;

/** The `HEVCDecoderConfigurationRecord` (ISO/IEC 14496-15, section 8.3.3.1). What it may leave open stays open. */
export function hevcRecord(abilities: Abilities, { vps, sps, pps }: Sets): Buffer {
  const { profile, chromaFormat, bitDepthLuma, bitDepthChroma, temporalLayers, temporalIdNested } = abilities;
  const layers = (Math.min(temporalLayers, 7) << 3) | (temporalIdNested ? 4 : 0) | LENGTHS;
  const segmentation = [0xf0, 0];
  const parallelism = 0xfc;
  const averageFrameRate = [0, 0];
  return Buffer.concat([
    Buffer.from([1]),
    profile,
    Buffer.from([...segmentation, parallelism, 0xfc | chromaFormat]),
    Buffer.from([0xf8 | (bitDepthLuma - 8), 0xf8 | (bitDepthChroma - 8), ...averageFrameRate, layers, 3]),
    arrayOf(NAL.vps, vps),
    arrayOf(NAL.sps, [sps]),
    arrayOf(NAL.pps, pps),
  ]);
}

function arrayOf(type: number, nals: readonly Buffer[]): Buffer {
  const units = nals.map((nal) => Buffer.concat([length16(nal.length), nal]));
  return Buffer.concat([Buffer.from([COMPLETE | type]), length16(nals.length), ...units]);
}

function length16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
