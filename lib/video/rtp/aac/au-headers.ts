import { BitReader } from '../../../bytes';
import type { AuLayout } from './au-layout';

export interface AuHeaders {
  /** Bytes of each access unit; of one that is cut in pieces, those of the whole. */
  sizes: number[];
  /** Units of one packet do not follow each other in time. */
  isInterleaved: boolean;
  /** What follows the headers. */
  data: Buffer;
}

/** Access units in one packet: those of a second, and more. */
const MOST_UNITS = 128;
const LENGTH_BYTES = 2;

/** Reads the head of a payload (RFC 3640, sections 3.2.1 and 3.2.2); undefined where it cannot be read. */
export function readAuHeaders(payload: Buffer, layout: AuLayout): AuHeaders | undefined {
  if (payload.length < LENGTH_BYTES) return undefined;
  const bits = payload.readUInt16BE(0);
  const end = LENGTH_BYTES + Math.ceil(bits / 8);
  if (end > payload.length) return undefined;
  const reader = new BitReader(payload.subarray(LENGTH_BYTES, end));
  const sizes: number[] = [];
  let isInterleaved = false;
  while (reader.position < bits && sizes.length < MOST_UNITS) {
    const { size, step } = readOne(reader, layout, sizes.length === 0);
    sizes.push(size);
    isInterleaved ||= step !== 0;
  }
  const data = behindAuxiliary(payload.subarray(end), layout.auxiliarySize);
  if (reader.exceeded || reader.position !== bits || data === undefined) return undefined;
  return { sizes, isInterleaved, data };
}

/** @returns `step` = how many units stand between this one and that before it in the packet */
function readOne(reader: BitReader, layout: AuLayout, isFirst: boolean): { size: number; step: number } {
  const size = reader.bits(layout.size);
  const index = reader.bits(isFirst ? layout.index : layout.indexDelta);
  // The first has no delta of composition: its time stamp says it.
  if (layout.compositionDelta > 0 && reader.flag()) reader.skip(layout.compositionDelta);
  if (layout.decodingDelta > 0 && reader.flag()) reader.skip(layout.decodingDelta);
  reader.skip(layout.randomAccess + layout.streamState);
  return { size, step: isFirst ? 0 : index };
}

/** Section 3.2.2: a length in bits, and so many bits of no use to us. */
function behindAuxiliary(rest: Buffer, sizeBits: number): Buffer | undefined {
  if (sizeBits === 0) return rest;
  const reader = new BitReader(rest);
  const bits = reader.bits(sizeBits);
  const end = Math.ceil((sizeBits + bits) / 8);
  return reader.exceeded || end > rest.length ? undefined : rest.subarray(end);
}
