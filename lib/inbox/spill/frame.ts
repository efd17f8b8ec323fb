import zlib from 'node:zlib';
import { isRecord } from '../../json/json';
import type { Brought, Finish } from '../store/protocol';

/** What is known of a message besides itself, when it is spilled. */
export interface SpilledFacts {
  /** Null where what is in the inbox cannot be read. */
  first: boolean | null;
  ended: boolean | null;
  mayRepeat: boolean;
  /** The webhook node whose message it is, for its endpoint may be another one later; the endpoint, where that had no node. */
  node: string;
}

/** A message that is spilled. */
export type MessageFrame = Omit<Brought, 'lateId' | 'wasBrought'> & SpilledFacts & { kind: 'message' };

/** One entry of a spill file. */
export type Frame =
  | MessageFrame
  /** How far a message has come: that with the highest `change` counts. */
  | ({ kind: 'progress'; change: number } & Pick<Brought, 'deliveryId' | 'progress'>)
  /** These messages are in the inbox: what their frames say counts no more. */
  | { kind: 'inside'; deliveryIds: string[] }
  /** The end of an event that is in the inbox, which could not be told. */
  | ({ kind: 'settled' } & Required<Pick<Finish, 'deliveryId' | 'state' | 'step'>>);

/** Where a frame stands in its file, in bytes. */
export interface FramePlace {
  at: number;
  length: number;
}

/** Length and CRC-32 of a frame, each 32 bits, big-endian. */
const HEAD = 8;

export function frameBytes(frame: Frame): Buffer {
  if (frame.kind !== 'message') return framed(JSON.stringify(frame), new Uint8Array());
  const { bytes, ...columns } = frame.message;
  return framed(JSON.stringify({ ...frame, message: columns }), bytes);
}

function framed(text: string, bytes: Uint8Array): Buffer {
  const content = Buffer.concat([Buffer.from(`${text}\n`), bytes]);
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(content.length, 0);
  head.writeUInt32BE(zlib.crc32(content), 4);
  return Buffer.concat([head, content]);
}

/**
 * The frames of a file that are as they were written. What follows a frame that a crash has torn was never acknowledged; what
 * follows one that the disk has changed was.
 */
export function framesIn(file: Buffer): { frames: (FramePlace & { frame: Frame })[]; isWhole: boolean } {
  const frames: (FramePlace & { frame: Frame })[] = [];
  let isWhole = true;
  let at = 0;
  while (at + HEAD <= file.length) {
    const length = HEAD + file.readUInt32BE(at);
    // No frame is empty: after a power loss a file may end in zeros, which its length had grown by and nobody had written.
    if (length === HEAD || at + length > file.length) break;
    const frame = frameIn(file.subarray(at, at + length));
    if (frame === undefined) isWhole = false;
    else frames.push({ frame, at, length });
    at += length;
  }
  return { frames, isWhole: isWhole && at === file.length };
}

/** Undefined where its bytes have changed. @param bytes a frame with its head */
export function frameIn(bytes: Buffer): Frame | undefined {
  const content = bytes.subarray(HEAD);
  if (zlib.crc32(content) !== bytes.readUInt32BE(4)) return undefined;
  const split = content.indexOf('\n');
  const columns = columnsIn(content.toString('utf8', 0, Math.max(split, 0)));
  if (columns?.kind !== 'message') return columns;
  return { ...columns, message: { ...columns.message, bytes: new Uint8Array(content.subarray(split + 1)) } };
}

/** Undefined where they are none, though their checksum is right. */
function columnsIn(text: string): Frame | undefined {
  try {
    const columns = JSON.parse(text) as Frame | undefined;
    return isRecord(columns) && 'kind' in columns ? columns : undefined;
  } catch {
    return undefined;
  }
}
