import fs from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions, type SQLOutputValue } from 'node:sqlite';
import { COLUMNS, type NumberedTable } from './carried-rows';
import { isMisread, PAGE, sizeOf } from './database';
import type { Row } from './statements';

/** A number of one to nine bytes, and where it ends; undefined beyond the bytes, or where no sequence, length or type is so large. */
function varint(bytes: Uint8Array, from: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let at = from; at < from + 8; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    value = value * 128 + (byte % 128);
    if (byte < 128) return Number.isSafeInteger(value) ? { value, end: at + 1 } : undefined;
  }
  return undefined;
}

/** The types of the values of a record, and where the first value begins; undefined where they are none. */
function typesOf(record: Uint8Array): { types: number[]; end: number } | undefined {
  const header = varint(record, 0);
  if (header === undefined || header.value > record.length) return undefined;
  const types: number[] = [];
  for (let at = header.end; at < header.value;) {
    const type = varint(record, at);
    if (type === undefined) return undefined;
    types.push(type.value);
    at = type.end;
  }
  return { types, end: header.value };
}

/**
 * The values of a record of SQLite (https://www.sqlite.org/fileformat2.html, section 2.1); undefined where the bytes are none,
 * or hold a number beyond those that JavaScript knows exactly.
 */
function valuesOf(record: Buffer): SQLOutputValue[] | undefined {
  const header = typesOf(record);
  if (header === undefined) return undefined;
  const values: SQLOutputValue[] = [];
  let at = header.end;
  for (const type of header.types) {
    const size = serialSize(type);
    const value = at + size > record.length ? undefined : valueOf(type, record.subarray(at, at + size));
    if (value === undefined) return undefined;
    values.push(value);
    at += size;
  }
  return at === record.length ? values : undefined;
}

/** Bytes of a value of each type below `VARIABLE`. */
const SIZES: readonly number[] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0];
/** From here on a type is a length: of bytes where it is even, of text where it is odd. */
const VARIABLE = SIZES.length;

function serialSize(type: number): number {
  return SIZES[type] ?? Math.floor((type - VARIABLE) / 2);
}

function valueOf(type: number, bytes: Buffer): SQLOutputValue | undefined {
  if (type >= VARIABLE) return type % 2 === 0 ? Uint8Array.from(bytes) : bytes.toString('utf8');
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type === 7) return bytes.readDoubleBE();
  if (type > 9) return undefined;
  const value = bytes.length === 8 ? Number(bytes.readBigInt64BE()) : bytes.readIntBE(0, bytes.length);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Beyond every primary key: a delivery id has 48 bits for it. */
const END = 2 ** 48;

/** What can be read of a damaged file in one way. */
export interface RowSource {
  rows: (table: NumberedTable) => Iterable<Row>;
  /** All of a small table that has no numbers, as far as it can be read. */
  small: (table: 'endpoint' | 'meta') => Row[];
}

/** Offsets and limits: https://www.sqlite.org/fileformat2.html, section 1.3 */
const PAGE_SIZE_AT = 16;
const FIRST_FREE_AT = 32;
const MIN_PAGE = 512;
const MAX_PAGE = 65536;

/** The pages of a database, by their numbers from 1 on, read without SQLite. */
class RawPages {
  readonly #count: number;
  readonly #handle: number;
  readonly #size: number = MIN_PAGE;

  /** @throws Error of the disk */
  constructor(file: string) {
    this.#handle = fs.openSync(file, 'r');
    this.#size = pageSize(this.#read(1).readUInt16BE(PAGE_SIZE_AT));
    this.#count = Math.floor(fs.fstatSync(this.#handle).size / this.#size);
  }

  /** But for those whose rows were deleted. */
  *all(): Generator<{ page: number; bytes: Buffer }> {
    const free = this.#free();
    for (let page = 1; page <= this.#count; page += 1)
      if (!free.has(page)) yield { page, bytes: this.#read(page) };
  }

  /** Undefined where there is none. */
  read(page: number): Buffer | undefined {
    return page > this.#count ? undefined : this.#read(page);
  }

  close(): void {
    fs.closeSync(this.#handle);
  }

  /** Zeros beyond the end. */
  #read(page: number): Buffer {
    const bytes = Buffer.alloc(this.#size);
    fs.readSync(this.#handle, bytes, 0, this.#size, (page - 1) * this.#size);
    return bytes;
  }

  /** As far as their list can be read. */
  #free(): ReadonlySet<number> {
    const free = new Set<number>();
    let trunk = this.#read(1).readUInt32BE(FIRST_FREE_AT);
    while (trunk > 1 && trunk <= this.#count && !free.has(trunk)) {
      free.add(trunk);
      const bytes = this.#read(trunk);
      const leaves = Math.min(bytes.readUInt32BE(4), this.#size / 4 - 2);
      for (let leaf = 0; leaf < leaves; leaf += 1) free.add(bytes.readUInt32BE(8 + 4 * leaf));
      trunk = bytes.readUInt32BE(0);
    }
    return free;
  }
}

/** Where what says so is damaged, as files of this version have it. */
function pageSize(size: number): number {
  return size >= MIN_PAGE && size <= MAX_PAGE && Number.isInteger(Math.log2(size)) ? size : PAGE;
}

/** Kinds, places and lengths: https://www.sqlite.org/fileformat2.html, section 1.6 */
const LEAF = 0x0d;
const FILE_HEADER = 100;
const PAGE_HEADER = 8;
/** No record of an inbox is larger, in bytes. */
const MAX_RECORD = 4 * 1024 * 1024;

/**
 * The rows that stand in the pages of a file, one page after the other, whatever has become of the schema and the trees that
 * lead to them. A page may be an old one: this is for what SQLite itself does not find.
 */
class PageRows implements RowSource {
  /** Pages of the log, by their numbers. */
  readonly #newest: ReadonlyMap<number, Buffer>;

  /** @param frames of its log: where there are any, their pages are read, old ones too, the newest first, and not those of the file */
  constructor(
    private readonly pages: RawPages,
    private readonly frames: readonly Frame[] = [],
  ) {
    this.#newest = new Map(frames.map(({ page, bytes }) => [page, bytes]));
  }

  *rows(table: NumberedTable): Generator<Row> {
    for (const { page, bytes } of this.frames.length > 0 ? this.frames.toReversed() : this.pages.all()) {
      const start = page === 1 ? FILE_HEADER : 0;
      if (bytes[start] !== LEAF) continue;
      const end = start + PAGE_HEADER + 2 * bytes.readUInt16BE(start + 3);
      for (let at = start + PAGE_HEADER; at < end && at + 2 <= bytes.length; at += 2) {
        const row = this.#row(table, bytes, bytes.readUInt16BE(at));
        if (row !== undefined) yield row;
      }
    }
  }

  /** They have pages of another kind. */
  small(): Row[] {
    return [];
  }

  #row(table: NumberedTable, page: Buffer, at: number): Row | undefined {
    const length = varint(page, at);
    const key = length && varint(page, length.end);
    if (length === undefined || key === undefined || length.value > MAX_RECORD) return undefined;
    const end = key.end + localLength(length.value, page.length);
    const local = page.subarray(key.end, end);
    if (key.value < 1 || key.value >= END) return undefined;
    // Before the rest is read, of which a body has many pages. No two tables have as many values in a row. Once a step of the
    // schema has added columns, rows from before it have fewer.
    const types = typesOf(local)?.types ?? [];
    if (types[0] !== 0 || types.length !== COLUMNS[table].length) return undefined;
    const missing = length.value - local.length;
    const first = missing > 0 && end + 4 <= page.length ? page.readUInt32BE(end) : 0;
    const rest = this.#chained(first, missing);
    const values = rest && valuesOf(Buffer.concat([local, rest]));
    if (values === undefined) return undefined;
    // In place of the primary key there stands nothing.
    return Object.fromEntries(
      COLUMNS[table].map((column, i) => [column, i === 0 ? key.value : (values[i] ?? null)]),
    );
  }

  /** What goes on in pages of its own; undefined where these lead nowhere. */
  #chained(first: number, length: number): Buffer | undefined {
    const parts: Buffer[] = [];
    let page = first;
    for (let left = length; left > 0;) {
      const bytes = page < 2 ? undefined : (this.#newest.get(page) ?? this.pages.read(page));
      if (bytes === undefined) return undefined;
      parts.push(bytes.subarray(4, 4 + left));
      left -= bytes.length - 4;
      page = bytes.readUInt32BE(0);
    }
    return Buffer.concat(parts);
  }
}

/** Bytes of a record that stand in its page itself. @param size of the page */
function localLength(length: number, size: number): number {
  const max = size - 35;
  if (length <= max) return length;
  const min = Math.floor(((size - 12) * 32) / 255) - 23;
  const wanted = min + ((length - min) % (size - 4));
  return wanted <= max ? wanted : min;
}

/** Sizes and places: https://www.sqlite.org/fileformat2.html, section 4 */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
const MAGIC = 0x377f0682;

/** A page as the log has it. */
interface Frame {
  /** Its number. */
  readonly page: number;
  readonly bytes: Buffer;
  /** It ends a commit. */
  readonly isCommit: boolean;
  /** Its checksum is right, and that of all before it: SQLite reads as far as that. */
  readonly isSound: boolean;
}

/** The frames that a log holds since it was last begun anew, sound or not; none where there is no log. @throws Error of the disk */
function walFramesOf(file: string): Frame[] {
  const log = fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0);
  if (log.length < LOG_HEADER + FRAME_HEADER) return [];
  const size = pageSize(log.readUInt32BE(8));
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

/** Rows in memory at a time: what a message holds may be large. */
const BATCH: Readonly<Record<NumberedTable, number>> = {
  message: 1000,
  body: 16,
  quarantine: 16,
  history: 1000,
  slot: 16,
};

/** A copy of a damaged file, of which each row is read that can be: the file itself is not touched. */
export class SalvageSource implements RowSource {
  #database: DatabaseSync | undefined;
  readonly #copy: string;
  /** What its log holds, where SQLite has not read all of it. */
  readonly #frames: readonly Frame[];

  /** @param withLog false where its log is left out: it may be of another file */
  constructor(file: string, withLog: boolean) {
    this.#copy = `${file}.reading`;
    removeDatabase(this.#copy);
    try {
      copy(file, this.#copy);
      if (withLog) copy(`${file}-wal`, `${this.#copy}-wal`);
      const frames = walFramesOf(`${this.#copy}-wal`);
      this.#database = unlessDamaged(() => this.#open());
      const isRead =
        sizeOf(file) > 0 && this.#database !== undefined && frames.every(({ isSound }) => isSound);
      this.#frames = isRead ? [] : frames;
    } catch (error) {
      removeDatabase(this.#copy);
      throw error;
    }
  }

  /** The rows of a table, oldest first, as far as they can be read one after the other. */
  *rows(table: NumberedTable): Generator<Row> {
    const [key] = COLUMNS[table];
    const sql = `SELECT * FROM ${table} WHERE ${key} > ? AND ${key} < ${END} ORDER BY ${key} LIMIT ${BATCH[table]}`;
    for (let after = 0, before = -1; after > before;) {
      before = after;
      for (const row of this.#readable(sql, after)) {
        // Damaged pages may lead in circles.
        if (Number(row[key]) <= after) continue;
        after = Number(row[key]);
        yield row;
      }
    }
  }

  small(table: 'endpoint' | 'meta'): Row[] {
    return this.#readable(`SELECT * FROM ${table}`);
  }

  /** What else stands in its pages, and in its log, read without SQLite. To be called when all that SQLite finds is read. */
  *leafRows(): Generator<RowSource> {
    this.#endReading();
    const pages = new RawPages(this.#copy);
    try {
      if (this.#frames.length > 0) yield new PageRows(pages, this.#frames);
      yield new PageRows(pages);
    } finally {
      pages.close();
    }
  }

  close(): void {
    try {
      this.#endReading();
    } finally {
      removeDatabase(this.#copy);
    }
  }

  /** The log is written into the copy by that. */
  #endReading(): void {
    const database = this.#database;
    this.#database = undefined;
    unlessDamaged(() => database?.close());
  }

  #open(): DatabaseSync {
    // Else newer releases of Node.js refuse to read what is damaged; earlier ones know no such option.
    const lenient: DatabaseSyncOptions & { defensive: boolean } = { defensive: false };
    const database = new DatabaseSync(this.#copy, lenient);
    try {
      // Before anything is read, so that no shared memory is needed.
      database.exec('PRAGMA locking_mode = EXCLUSIVE');
      // Or nothing could be read of a file that is shorter than it says.
      database.exec('PRAGMA writable_schema = ON');
      database.prepare('SELECT count(*) FROM sqlite_master').get();
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** As many as can be read without a break. */
  #readable(sql: string, ...values: number[]): Row[] {
    const rows: Row[] = [];
    unlessDamaged(() => {
      for (const row of this.#database?.prepare(sql).iterate(...values) ?? []) rows.push(row);
    });
    return rows;
  }
}

/** Nothing where there is none. */
function copy(file: string, to: string): void {
  if (fs.existsSync(file)) fs.copyFileSync(file, to, fs.constants.COPYFILE_FICLONE);
}

/** With its logs. */
export function removeDatabase(file: string): void {
  for (const end of ['', '-wal', '-journal']) fs.rmSync(`${file}${end}`, { force: true });
}

/** Undefined where a page is damaged. @throws Error of any other kind: a disk that fails to read may be able to the next time */
function unlessDamaged<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (isMisread(error)) return undefined;
    throw error;
  }
}
