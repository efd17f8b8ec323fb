import { BitReader } from '../../../bytes';
import { unescaped } from '../bits/unescaped';
import type { NalRole, Slice, VideoCodec } from '../nal/video-codec';
import { readSps } from './h265-sps';
import { H265Unpacker } from './h265-unpacker';
import { NAL, isBla, isIdr, isIrap, isRasl, isSlice, layerOf, typeOf } from './nal-types';

/** Bytes that hold what we read at the head of a slice. */
const HEAD = 16;
const HEADER_BITS = 16;
/** Layers, 16 bits that are reserved, profile, tier and level. */
const LEVEL_BITS = 12 + 16 + 96;
/** Table 7-7. */
const INTRA = 2;
const MOST_PPS = 63;
const MOST_SPS = 15;

/** H.265 (ITU-T H.265). */
export const h265: VideoCodec = {
  name: 'h265',
  unpacker: () => new H265Unpacker(),
  roleOf,
  slice: readSlice,
  vps: readVps,
  sps: readSps,
  pps: readPps,
  recovery: [],
};

function roleOf(nal: Buffer): NalRole {
  const type = typeOf(nal);
  if (layerOf(nal) !== 0) return 'other';
  if (isSlice(type)) return 'slice';
  if (type === NAL.vps) return 'vps';
  if (type === NAL.sps) return 'sps';
  return type === NAL.pps ? 'pps' : 'other';
}

/** Section 7.3.6.1. */
function readSlice(nal: Buffer): Slice | undefined {
  const type = typeOf(nal);
  const reader = new BitReader(unescaped(nal.subarray(0, HEAD)));
  reader.skip(HEADER_BITS);
  const isFirst = reader.flag();
  if (isIrap(type)) reader.skip(1);
  const pps = reader.unsigned();
  if (reader.exceeded || pps > MOST_PPS) return undefined;
  // Of the one layer that is decoded no reserved bits stand before it.
  const isIntra = !isFirst || reader.unsigned() === INTRA;
  return {
    isFirst,
    pps,
    entry: entryOf(type),
    isIntra,
    isBrokenLink: isBla(type),
    reachesBack: isRasl(type),
  };
}

function entryOf(type: number): Slice['entry'] {
  if (isIdr(type)) return 'clean';
  return isIrap(type) ? 'open' : undefined;
}

/** Section 7.3.2.1: its id; one that is cut short lacks profile, tier and level, too, or their end. */
function readVps(nal: Buffer): number | undefined {
  const reader = new BitReader(unescaped(nal));
  reader.skip(HEADER_BITS);
  const id = reader.bits(4);
  reader.skip(LEVEL_BITS);
  return reader.exceeded || !reader.hasEnd ? undefined : id;
}

/** Section 7.3.2.3.1, without tiles, scaling lists and extensions. One that is cut short would take the place of a good one. */
function readPps(nal: Buffer): { id: number; sps: number } | undefined {
  const reader = new BitReader(unescaped(nal));
  reader.skip(HEADER_BITS);
  const [id, sps] = [reader.unsigned(), reader.unsigned()];
  reader.skip(7);
  // Reference pictures, and the quantizer.
  for (let numbers = 0; numbers < 3; numbers += 1) reader.unsigned();
  reader.skip(2);
  if (reader.flag()) reader.unsigned();
  for (let offsets = 0; offsets < 2; offsets += 1) reader.unsigned();
  reader.skip(4);
  const hasTiles = reader.flag();
  reader.skip(1);
  if (!hasTiles) {
    reader.skip(1);
    if (reader.flag()) {
      reader.skip(1);
      if (!reader.flag()) for (let offsets = 0; offsets < 2; offsets += 1) reader.unsigned();
    }
    // Then scaling lists may follow.
    if (!reader.flag()) {
      reader.skip(1);
      reader.unsigned();
      reader.skip(2);
    }
  }
  return reader.exceeded || !reader.hasEnd || id > MOST_PPS || sps > MOST_SPS ? undefined : { id, sps };
}
