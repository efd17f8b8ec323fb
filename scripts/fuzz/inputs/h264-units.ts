import { FuzzBitWriter, escaped } from './bit-writer';

export interface SpsFields {
  id?: number;
  profile?: number;
  /** Macroblocks of 16 pixels. */
  across?: number;
  down?: number;
  isInterlaced?: boolean;
  /** Left, right, top, bottom, in units of the standard. */
  crop?: readonly [number, number, number, number];
  /** Of the high profiles. */
  chromaFormat?: number;
  separatePlanes?: boolean;
  bitDepth?: number;
  scalingLists?: boolean;
  /** Offsets of a cycle of the second way to number pictures. */
  offsets?: number;
  /** Index of the shape of pixels (table E-1), or that shape. */
  aspect?: number | readonly [across: number, down: number];
}

const HIGH = 100;

/** A sequence parameter set (ITU-T H.264, section 7.3.2.1.1). */
export function h264Sps(fields: SpsFields = {}): Buffer {
  const { id = 0, profile = 66, across = 20, down = 12, isInterlaced = false, crop, offsets } = fields;
  const writer = new FuzzBitWriter().bits(0x67, 8).bits(profile, 8).bits(0xc0, 8).bits(30, 8).unsigned(id);
  if (profile >= HIGH) writeSampling(writer, fields);
  writer.unsigned(0);
  if (offsets === undefined) writer.unsigned(0).unsigned(2);
  else writeOffsets(writer, offsets);
  writer.unsigned(1).bits(0, 1);
  writer.unsigned(across - 1).unsigned((isInterlaced ? down / 2 : down) - 1);
  if (isInterlaced) writer.bits(0, 1).bits(0, 1);
  else writer.bits(1, 1);
  writer.bits(1, 1).bits(crop === undefined ? 0 : 1, 1);
  for (const cut of crop ?? []) writer.unsigned(cut);
  writeAspect(writer, fields.aspect);
  return escaped(writer.trailed());
}

/** Usability information, as far as that shape. */
function writeAspect(writer: FuzzBitWriter, aspect: SpsFields['aspect']): void {
  writer.bits(aspect === undefined ? 0 : 1, 1);
  if (aspect === undefined) return;
  writer.bits(1, 1).bits(typeof aspect === 'number' ? aspect : 255, 8);
  if (typeof aspect !== 'number') writer.bits(aspect[0], 16).bits(aspect[1], 16);
}

function writeSampling(writer: FuzzBitWriter, fields: SpsFields): void {
  const { chromaFormat = 1, separatePlanes = false, bitDepth = 8, scalingLists = false } = fields;
  writer.unsigned(chromaFormat);
  if (chromaFormat === 3) writer.bits(separatePlanes ? 1 : 0, 1);
  writer
    .unsigned(bitDepth - 8)
    .unsigned(bitDepth - 8)
    .bits(0, 1);
  writer.bits(scalingLists ? 1 : 0, 1);
  if (!scalingLists) return;
  // One that stops early, one that is whole, and none of the others.
  writer.bits(1, 1).signed(-8).bits(1, 1);
  for (let index = 0; index < 16; index += 1) writer.signed(1);
  writer.bits(0, chromaFormat === 3 ? 10 : 6);
}

function writeOffsets(writer: FuzzBitWriter, offsets: number): void {
  writer.unsigned(1).bits(0, 1).signed(-3).signed(4).unsigned(offsets);
  for (let index = 0; index < offsets; index += 1) writer.signed(index);
}

/** A picture parameter set (section 7.3.2.2). */
export function h264Pps({
  id = 0,
  sps = 0,
  quantizer = 0,
}: { id?: number; sps?: number; quantizer?: number } = {}): Buffer {
  const writer = new FuzzBitWriter().bits(0x68, 8).unsigned(id).unsigned(sps).bits(0, 2);
  for (let numbers = 0; numbers < 3; numbers += 1) writer.unsigned(0);
  return escaped(writer.bits(0, 3).signed(quantizer).signed(0).signed(0).bits(0, 3).trailed());
}

export interface SliceFields {
  type?: 'idr' | 'intra' | 'predicted';
  /** 0 = the picture begins. */
  firstMacroblock?: number;
  pps?: number;
  /** Of the bytes behind its head. */
  length?: number;
  fill?: number;
}

const SLICE_TYPES = { idr: 7, intra: 7, predicted: 5 } as const;

/** A slice as far as receivers read it (section 7.3.3), and any bytes. */
export function h264Slice(fields: SliceFields = {}): Buffer {
  const { type = 'predicted', firstMacroblock = 0, pps = 0, length = 20, fill = 0x55 } = fields;
  const writer = new FuzzBitWriter().bits(type === 'idr' ? 0x65 : 0x41, 8);
  writer.unsigned(firstMacroblock).unsigned(SLICE_TYPES[type]).unsigned(pps);
  return Buffer.concat([escaped(writer.trailed()), Buffer.alloc(length, fill)]);
}

/** Supplemental information that decoding can begin, and is exact so many pictures later (section D.1.8). */
export function h264Recovery(pictures = 0): Buffer {
  const message = new FuzzBitWriter().unsigned(pictures).bits(0b1000, 4).trailed();
  // One of another kind stands before it, longer than a byte can say.
  const other = Buffer.concat([Buffer.from([5, 255, 1]), Buffer.alloc(256, 0x20)]);
  return escaped(
    Buffer.concat([Buffer.from([6]), other, Buffer.from([6, message.length]), message, Buffer.from([0x80])]),
  );
}
