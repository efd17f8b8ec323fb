import { FuzzBitWriter, escaped } from './bit-writer';

/** Types of NAL units (ITU-T H.265, table 7-1). */
export const H265 = {
  trailing: 1,
  radl: 7,
  rasl: 9,
  bla: 16,
  idr: 19,
  cra: 21,
  vps: 32,
  sps: 33,
  pps: 34,
} as const;

function headed(type: number, layer = 0): FuzzBitWriter {
  return new FuzzBitWriter().bits(type, 7).bits(layer, 6).bits(1, 3);
}

const MAIN = Buffer.from('01600000009000000000005d', 'hex');

/** A video parameter set, as far as receivers read it (section 7.3.2.1). */
export function h265Vps({ id = 0 }: { id?: number } = {}): Buffer {
  const writer = headed(H265.vps).bits(id, 4).bits(0xc01, 12).bits(0xffff, 16);
  for (const byte of MAIN) writer.bits(byte, 8);
  return escaped(writer.trailed());
}

export interface SpsFields {
  id?: number;
  vps?: number;
  /** Layers of time, less one. */
  subLayers?: number;
  width?: number;
  height?: number;
  chromaFormat?: number;
  bitDepth?: number;
  /** Left, right, top, bottom, in units of the standard. */
  crop?: readonly [number, number, number, number];
  /** `general_profile_space` to `general_level_idc`. */
  profile?: Buffer;
  /** The shape of pixels, behind all that may stand between the depth of colours and that. */
  aspect?: readonly [across: number, down: number];
}

/** A sequence parameter set (section 7.3.2.2.1), as far as receivers read it. */
export function h265Sps(fields: SpsFields = {}): Buffer {
  const {
    id = 0,
    vps = 0,
    subLayers = 0,
    width = 640,
    height = 360,
    chromaFormat = 1,
    bitDepth = 8,
    crop,
  } = fields;
  const writer = headed(H265.sps).bits(vps, 4).bits(subLayers, 3).bits(1, 1);
  for (const byte of fields.profile ?? MAIN) writer.bits(byte, 8);
  writeSubLayers(writer, subLayers);
  writer.unsigned(id).unsigned(chromaFormat);
  if (chromaFormat === 3) writer.bits(0, 1);
  writer
    .unsigned(width)
    .unsigned(height)
    .bits(crop === undefined ? 0 : 1, 1);
  for (const cut of crop ?? []) writer.unsigned(cut);
  writer.unsigned(bitDepth - 8).unsigned(bitDepth - 8);
  if (fields.aspect === undefined) return escaped(writer.bits(0x2a, 16).trailed());
  writeUntilUsability(writer, subLayers);
  const [across, down] = fields.aspect;
  return escaped(writer.bits(3, 2).bits(255, 8).bits(across, 16).bits(down, 16).trailed());
}

/** With all that is optional. */
function writeUntilUsability(writer: FuzzBitWriter, subLayers: number): void {
  // Numbers of pictures have eight bits; for each layer its order; sizes of blocks.
  writer.unsigned(4).bits(1, 1);
  for (let number = 0; number < (subLayers + 1) * 3; number += 1) writer.unsigned(number);
  for (let number = 0; number < 6; number += 1) writer.unsigned(number);
  writer.bits(3, 2);
  for (let size = 0; size < 4; size += 1)
    for (let list = 0; list < (size === 3 ? 2 : 6); list += 1) {
      if (list === 1) {
        writer.bits(0, 1).unsigned(1);
        continue;
      }
      writer.bits(1, 1);
      if (size > 1) writer.signed(-3);
      for (let value = 0; value < (size === 0 ? 16 : 64); value += 1) writer.signed(value % 5);
    }
  // Two tools; uncompressed blocks.
  writer.bits(2, 2).bits(1, 1).bits(0x77, 8).unsigned(0).unsigned(2).bits(1, 1);
  // Three sets of reference pictures: of three pictures; predicted from it, with three again; predicted, with one.
  writer.unsigned(3);
  writer.unsigned(2).unsigned(1);
  for (let picture = 0; picture < 3; picture += 1) writer.unsigned(picture).bits(1, 1);
  writer.bits(1, 1).bits(1, 1).unsigned(0).bits(0b1_01_1_00, 6);
  writer.bits(1, 1).bits(0, 1).unsigned(3).bits(0b00_00_00_1, 7);
  // Two pictures that stay for long; two tools.
  writer.bits(1, 1).unsigned(2).bits(0x1ff, 9).bits(0, 9).bits(0, 2);
}

/** The first tells its profile and level, the others their level alone (section 7.3.3). */
function writeSubLayers(writer: FuzzBitWriter, count: number): void {
  for (let layer = 0; layer < count; layer += 1) writer.bits(layer === 0 ? 1 : 0, 1).bits(1, 1);
  if (count > 0) writer.bits(0, (8 - count) * 2);
  for (let layer = 0; layer < count; layer += 1) writer.bits(0, layer === 0 ? 88 : 0).bits(60, 8);
}

/** A picture parameter set (section 7.3.2.3.1). */
export function h265Pps({
  id = 0,
  sps = 0,
  quantizer = 0,
}: { id?: number; sps?: number; quantizer?: number } = {}): Buffer {
  const writer = headed(H265.pps).unsigned(id).unsigned(sps).bits(0, 7).unsigned(0).unsigned(0);
  // No offsets, tiles, lists and extensions.
  writer.signed(quantizer).bits(0, 3).signed(0).signed(0).bits(0, 10).unsigned(0);
  return escaped(writer.bits(0, 2).trailed());
}

export interface SliceFields {
  type?: number;
  layer?: number;
  isFirst?: boolean;
  pps?: number;
  /** Of the bytes behind its head. */
  length?: number;
}

/** A slice, as far as receivers read it (section 7.3.6.1), and any bytes. */
export function h265Slice(fields: SliceFields = {}): Buffer {
  const { type = H265.trailing, layer = 0, isFirst = true, pps = 0, length = 20 } = fields;
  const writer = headed(type, layer).bits(isFirst ? 1 : 0, 1);
  if (type >= H265.bla) writer.bits(0, 1);
  return Buffer.concat([escaped(writer.unsigned(pps).trailed()), Buffer.alloc(length, 0x55)]);
}
