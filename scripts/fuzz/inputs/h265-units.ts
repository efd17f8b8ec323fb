import { BitWriter, escaped } from './bit-writer';

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

function headed(type: number, layer = 0): BitWriter {
  return new BitWriter().bits(type, 7).bits(layer, 6).bits(1, 3);
}

/** A video parameter set, as far as receivers read it (section 7.3.2.1). */
export function h265Vps({ id = 0 }: { id?: number } = {}): Buffer {
  return escaped(headed(H265.vps).bits(id, 4).bits(0xfff, 12).trailed());
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
}

const MAIN = Buffer.from('01600000009000000000005d', 'hex');

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
  return escaped(
    writer
      .unsigned(bitDepth - 8)
      .unsigned(bitDepth - 8)
      .bits(0x2a, 16)
      .trailed(),
  );
}

/** The first tells its profile and level, the others their level alone (section 7.3.3). */
function writeSubLayers(writer: BitWriter, count: number): void {
  for (let layer = 0; layer < count; layer += 1) writer.bits(layer === 0 ? 1 : 0, 1).bits(1, 1);
  if (count > 0) writer.bits(0, (8 - count) * 2);
  for (let layer = 0; layer < count; layer += 1) writer.bits(0, layer === 0 ? 88 : 0).bits(60, 8);
}

/** A picture parameter set (section 7.3.2.3.1). */
export function h265Pps({
  id = 0,
  sps = 0,
  tail = 0,
}: { id?: number; sps?: number; tail?: number } = {}): Buffer {
  return escaped(headed(H265.pps).unsigned(id).unsigned(sps).bits(tail, 16).trailed());
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
