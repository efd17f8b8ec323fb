import fs from 'node:fs';
import { PAGE, sizeOf } from '../open';

/** Sizes and places: https://www.sqlite.org/fileformat2.html, section 4 */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
const MAGIC = 0x377f0682;
const MIN_PAGE = 512;
const MAX_PAGE = 65536;

/** A page as the log has it. */
export interface Frame {
  /** Its number. */
  readonly page: number;
  readonly bytes: Buffer;
  /** It ends a commit. */
  readonly isCommit: boolean;
  /** Its checksum is right, and that of all before it: SQLite reads as far as that. */
  readonly isSound: boolean;
}

/** The frames that a log holds since it was last begun anew, sound or not; none where there is no log. @throws Error of the disk */
export function walFramesOf(file: string): Frame[] {
  const log = fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0);
  if (log.length < LOG_HEADER + FRAME_HEADER) return [];
  const size = pageSizeIn(log);
  const sum = new Checksum(log.readUInt32BE(0) === MAGIC);
  sum.add(log.subarray(0, 24));
  let isSound = sum.is(log.readUInt32BE(24), log.readUInt32BE(28));
  // Where the header is damaged, the first frame tells as well which belong together.
  const salts = isSound ? log.subarray(16, 24) : log.subarray(LOG_HEADER + 8, LOG_HEADER + 16);
  const frames: Frame[] = [];
  for (let at = LOG_HEADER; at + FRAME_HEADER + size <= log.length; at += FRAME_HEADER + size) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) {
      isSound = false;
      continue;
    }
    const bytes = log.subarray(at + FRAME_HEADER, at + FRAME_HEADER + size);
    sum.add(log.subarray(at, at + 8));
    sum.add(bytes);
    isSound &&= sum.is(log.readUInt32BE(at + 16), log.readUInt32BE(at + 20));
    frames.push({ page: log.readUInt32BE(at), bytes, isCommit: log.readUInt32BE(at + 4) > 0, isSound });
  }
  return frames;
}

/**
 * Whether the log of a file holds commits that SQLite does not read, and would overwrite: it ends at the first frame that is
 * not sound, without a word. Nor does it read any of one whose file is gone. The last commit may have been cut off; each one
 * before it was synced.
 */
export function isLogDamaged(file: string): boolean {
  const isGone = sizeOf(file) === 0;
  const unread = walFramesOf(`${file}-wal`).filter(({ isSound }) => isGone || !isSound);
  return unread.filter(({ isCommit }) => isCommit).length > 1;
}

/** Where the header is damaged, as files of this version have it. */
function pageSizeIn(log: Buffer): number {
  const size = log.readUInt32BE(8);
  return size >= MIN_PAGE && size <= MAX_PAGE && Number.isInteger(Math.log2(size)) ? size : PAGE;
}

/** Of all that was added so far. */
class Checksum {
  #first = 0;
  #second = 0;

  constructor(private readonly isLittleEndian: boolean) {}

  add(bytes: Buffer): void {
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at < bytes.length; at += 8) {
      this.#first = (this.#first + words.getUint32(at, this.isLittleEndian) + this.#second) >>> 0;
      this.#second = (this.#second + words.getUint32(at + 4, this.isLittleEndian) + this.#first) >>> 0;
    }
  }

  is(first: number, second: number): boolean {
    return this.#first === first && this.#second === second;
  }
}
