import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensurePrivateFolder } from '../../files';
import { DISK_FULL, type StoreWarning } from '../store/port';
import { migrate } from './schema';

/** Magic numbers of Linux file systems, from linux/magic.h. */
const FILE_SYSTEMS: Readonly<Record<number, StoreWarning>> = {
  0x01021994: { kind: 'volatile', fileSystem: 'tmpfs' },
  0x858458f6: { kind: 'volatile', fileSystem: 'ramfs' },
  0x794c7630: { kind: 'volatile', fileSystem: 'overlay' },
  0x61756673: { kind: 'volatile', fileSystem: 'aufs' },
  0x6969: { kind: 'network', fileSystem: 'NFS' },
  0x517b: { kind: 'network', fileSystem: 'SMB' },
  0xff534d42: { kind: 'network', fileSystem: 'CIFS' },
  0xfe534d42: { kind: 'network', fileSystem: 'SMB' },
  0x01021997: { kind: 'network', fileSystem: '9p' },
  0x00c36400: { kind: 'network', fileSystem: 'Ceph' },
  0x5346414f: { kind: 'network', fileSystem: 'AFS' },
  0x65735546: { kind: 'network', fileSystem: 'FUSE' },
};

/** Warns where a folder lies on a file system that forgets, or whose locks and syncs cannot be relied on. */
export function fileSystemWarning(folder: string): StoreWarning | undefined {
  // A share of Windows; there the type of a file system says nothing.
  if (/^[\\/]{2}[^\\/?.]/.test(folder)) return { kind: 'network', fileSystem: 'SMB' };
  return FILE_SYSTEMS[orUndefined(() => fs.statfsSync(folder))?.type ?? 0];
}

/** Free space of the file system under a folder, in bytes; Infinity where it cannot be told. */
export function freeOf(folder: string): number {
  const stat = orUndefined(() => fs.statfsSync(folder));
  return stat === undefined ? Infinity : stat.bavail * stat.bsize;
}

/** Undefined where it fails. */
function orUndefined<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Makes names in a folder durable: without it one may be gone, or back, after a power loss. @throws Error of the disk */
export function syncFolder(folder: string): void {
  if (process.platform !== 'win32') sync(folder, 'r');
}

/** Makes a file durable. No database of this process may have it: closing a descriptor of a file ends the locks on it. */
export function syncFile(file: string): void {
  sync(file, 'r+');
}

function sync(name: string, flags: string): void {
  const handle = fs.openSync(name, flags);
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

export interface FolderLock {
  release(): void;
}

/**
 * Takes a folder for this process: the lock of SQLite on an empty file, which every system lets go with the process, however
 * that ends.
 * @param options `wait`: for who has it, in milliseconds
 * @returns undefined where somebody has it
 * @throws Error where the folder takes no lock
 */
export function lockFolder(folder: string, { name = 'lock', wait = 0 } = {}): FolderLock | undefined {
  const file = path.join(folder, name);
  const database = new DatabaseSync(file);
  try {
    database.exec(`PRAGMA busy_timeout = ${wait}`);
    // In memory, for nothing is written: a full disk can be locked.
    database.exec('PRAGMA journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
    // By its name: to close a descriptor of it would end the lock.
    fs.chmodSync(file, 0o600);
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

/** Primary result codes: https://sqlite.org/rescode.html */
const ERROR = 1;
const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const MISMATCH = 20;
const NOTADB = 26;
/** Extended: the file ends within a page that it should have. A disk that fails says otherwise. */
const SHORT_READ = 522;
/** A table or a column is missing, or holds what none has written. */
const MISREAD: ReadonlySet<number> = new Set([ERROR, CONSTRAINT, MISMATCH]);
const BROKEN: ReadonlySet<number> = new Set([READONLY, IOERR, CORRUPT, CANTOPEN, NOTADB]);

const MOVE_AWAY =
  'stop Node-RED, move inbox.sqlite and inbox.sqlite-wal out of the folder and keep them, and start it again';
/** What is wrong, and what to do. */
const CURES: Readonly<Record<number, string>> = {
  [BUSY]: 'another Node-RED has its file: give each a folder of its own',
  [READONLY]: 'its file cannot be written: give Node-RED the right to write it',
  [IOERR]: 'the disk reports errors: see to the disk',
  [CORRUPT]: `its file is damaged: ${MOVE_AWAY}`,
  [FULL]: DISK_FULL,
  [CANTOPEN]:
    'its file cannot be opened or made: see that inbox.sqlite is a file and no folder, and that Node-RED may write there',
  [NOTADB]: `inbox.sqlite is not a database: ${MOVE_AWAY}`,
};

/** Extended codes carry the primary one in their lowest byte. */
function codeOf(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  return code === SHORT_READ ? CORRUPT : code & 0xff;
}

/** True where another process has the lock of a file. */
export function isBusy(error: unknown): boolean {
  return codeOf(error) === BUSY;
}

/** True after a fault of disk or file: nobody knows what of it can be relied on before it is opened and checked again. */
export function isBroken(error: unknown): boolean {
  return BROKEN.has(codeOf(error));
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === FULL;
}

/** True where the file is no longer what was written; never after a fault of the disk, which may be able to read it the next time. */
export function isDamaged(error: unknown): boolean {
  const code = codeOf(error);
  return error instanceof DamagedError || code === CORRUPT || code === NOTADB;
}

/**
 * True also where SQLite finds no damage, but something else than the package has written: a table of another name, a number
 * beyond all. Of what is read at an opening or a salvage; at other times it may be the fault of what is asked.
 */
export function isMisread(error: unknown): boolean {
  return isDamaged(error) || MISREAD.has(codeOf(error)) || error instanceof RangeError;
}

/** True where a table refuses a row, or nothing could be made of it: never after a fault of the disk. */
export function isUnfit(error: unknown): boolean {
  const code = codeOf(error);
  return code === 0 || code === CONSTRAINT || code === MISMATCH;
}

/** What failed and what to do, as the end of a sentence. Texts of SQLite and of the system hold nothing of a message. */
export function faultText(error: unknown): string {
  if (error instanceof DamagedError) return `${CURES[CORRUPT]} (${error.message})`;
  if (!(error instanceof Error)) return 'unknown fault';
  if (!('errcode' in error)) return error.message;
  return `${CURES[codeOf(error)] ?? error.message} (SQLite ${String(error.errcode)})`;
}

/** Kept free for the moment at which the disk is full, in bytes. */
const RESERVE = 16 * 1024 * 1024;
/** Below this free space the operator is told, and no reserve is made, in bytes. */
const LOW = 256 * 1024 * 1024;

export function checkDisk(folder: string): StoreWarning | undefined {
  const freeBytes = freeOf(folder);
  return freeBytes < LOW ? { kind: 'disk-low', freeBytes } : undefined;
}

/** A file of noise, which no file system can squeeze, given up when the disk is full: it buys the time to make room. */
function reserveOf(folder: string): string {
  return path.join(folder, 'reserve');
}

/** True where there was one. */
export function releaseReserve(folder: string): boolean {
  try {
    fs.unlinkSync(reserveOf(folder));
    return true;
  } catch {
    return false;
  }
}

/** Makes it where it is lacking and the disk has room. */
export function keepReserve(folder: string): void {
  if (fs.existsSync(reserveOf(folder)) || freeOf(folder) < LOW) return;
  try {
    fs.writeFileSync(reserveOf(folder), randomBytes(RESERVE), { mode: 0o600 });
  } catch {
    releaseReserve(folder);
  }
}

/** Beside the file, for one that is damaged takes no lock that could be relied on. */
const STORE_LOCK = 'inbox.lock';

/** Files that this thread has. */
const held = new Set<string>();

/** Another process has the file. */
export class FileInUseError extends Error {
  /** As SQLite says it. */
  readonly errcode = BUSY;
}

/**
 * Does what opens a file, sets it aside or puts another in its place, while no other process does: else one would go on in a
 * file that another sets aside. It is synchronous, so what is called within it has the file already.
 * @throws FileInUseError where another process is at it
 */
export function alone<Result>(file: string, work: () => Result): Result {
  if (held.has(file)) return work();
  const lock = lockOf(file);
  held.add(file);
  try {
    return work();
  } finally {
    held.delete(file);
    lock?.release();
  }
}

/** A folder that takes no lock has no second process to fear, as far as anybody can tell; and what is wrong with it, the file will say. */
function lockOf(file: string): FolderLock | undefined {
  const folder = path.dirname(file);
  let lock: FolderLock | undefined;
  try {
    ensurePrivateFolder(folder);
    lock = lockFolder(folder, { name: STORE_LOCK, wait: BUSY_TIMEOUT });
  } catch {
    return undefined;
  }
  if (lock === undefined) throw new FileInUseError('another process is opening the file');
  return lock;
}

/** The keys of an inbox, as `meta` has them. */
export const KEYS = ['view-key', 'quarantine-key'] as const;
/** Since when ids may be lost, by the clock of the file, in milliseconds. */
export const IDS_LOST = 'ids-lost';
/** The last sequence of what may have been delivered without the file knowing it: events that were read from a damaged file, or an older copy. */
export const UNCERTAIN = 'doubtful-up-to';

/** Added to the newest sequence that is known where there were newer ones, of which nobody knows how many. */
export const BEYOND_LOST = 1_000_000;

/** As the package writes one; more digits would be beyond every sequence. */
const NUMBER = /^\d{1,14}$/;

/** A number of `meta`; undefined where it is none: of a byte that has changed SQLite knows nothing. */
export function numberIn(text: unknown): number | undefined {
  return typeof text === 'string' && NUMBER.test(text) ? Number(text) : undefined;
}

/** What a file has under a name in `meta`. */
export function metaIn(database: DatabaseSync, name: string): string | undefined {
  const row = database.prepare('SELECT value FROM meta WHERE name = ?').get(name);
  return row === undefined ? undefined : String(row['value']);
}

/** The clock of a file as it was kept, in milliseconds; where that cannot be read, as of the newest message. */
export function clockIn(database: DatabaseSync): number {
  const kept = numberIn(metaIn(database, 'clock'));
  if (kept !== undefined) return kept;
  const newest = database.prepare('SELECT stored FROM message ORDER BY sequence DESC LIMIT 1').get();
  return Number(newest?.['stored'] ?? 0);
}

/** The name of their count beside the file. */
export const OPENINGS = 'inbox.openings';

/** Between the name of a file that was moved into a database and the time of that. */
export const MOVED = '.moved-';

/** True where a file of this name was moved into a database: what is there now is another inbox, and lacks nothing. */
export function wasMoved(file: string): boolean {
  const folder = path.dirname(file);
  const name = `${path.basename(file)}${MOVED}`;
  return fs.existsSync(folder) && fs.readdirSync(folder).some((each) => each.startsWith(name));
}

/**
 * How often a file was opened, as counted beside it. Where the file itself has seen fewer openings, it is an old copy: what came
 * since the copy was made is not known to it.
 */
export function openingsBeside(file: string): number {
  const count = Number(orUndefined(() => fs.readFileSync(path.join(path.dirname(file), OPENINGS), 'utf8')));
  return Number.isSafeInteger(count) ? count : 0;
}

/** Only what the file knows is to be written beside it: otherwise it would seem older than it is. */
export function writeOpenings(file: string, count: number): void {
  // On a full disk it is not written: then an older copy would not be noticed.
  orUndefined(() => fs.writeFileSync(path.join(path.dirname(file), OPENINGS), `${count}\n`, { mode: 0o600 }));
}

/** The newest message of an inbox: its sequence, and when it was received, in milliseconds since 1970. */
export interface LastMessage {
  sequence: number;
  received: number;
}

/** Between two writings while messages come, in milliseconds. */
const WRITE_EVERY = 1000;

/**
 * The newest message of an inbox, remembered where no copy of its folder takes it along. One that is behind, after a crash,
 * tells less than it could and nothing that is wrong; so it is written now and then, and not synced.
 */
export class LastSequence {
  #known: LastMessage | undefined;
  #writtenAt = -Infinity;

  constructor(private readonly file: string) {
    this.#known = orUndefined(() => lastIn(file));
  }

  get known(): LastMessage | undefined {
    return this.#known;
  }

  get isDue(): boolean {
    return performance.now() - this.#writtenAt >= WRITE_EVERY;
  }

  /** @param last as the inbox has it on its disk */
  keep(last: LastMessage): void {
    if (last.sequence === this.#known?.sequence) return;
    this.#known = last;
    this.#writtenAt = performance.now();
    const coming = `${this.file}.new`;
    try {
      ensurePrivateFolder(path.dirname(this.file));
      fs.writeFileSync(coming, `${JSON.stringify(last)}\n`, { mode: 0o600 });
      fs.renameSync(coming, this.file);
    } catch {
      // On a full disk: then an older copy would not be noticed.
    }
  }
}

function lastIn(file: string): LastMessage | undefined {
  const { sequence, received } = JSON.parse(fs.readFileSync(file, 'utf8')) as LastMessage;
  const isSound = Number.isSafeInteger(sequence) && Number.isSafeInteger(received);
  return isSound ? { sequence, received } : undefined;
}

/** What of an open database no longer has its name: `log` where the file still has it. */
export type Nameless = 'file' | 'log';

/** What was just done stands in what the end of the process would remove, or what no start would find: it is not committed. */
export class NamelessError extends Error {
  constructor(what: Nameless) {
    super(
      `its ${what} was removed or renamed while it was open; it is written anew from what is open as soon as that can be`,
    );
  }
}

interface Held {
  name: string;
  handle: number;
}

/**
 * Whether the file and the log of an open database are still what stands under their names. Each is held open here, too, so
 * that its inode cannot become that of another file, and that a network file system which makes inodes up goes on with the same
 * one. Their folder needs no look of its own: it is on the way to both.
 *
 * To be closed after the database: closing any descriptor of a file ends the locks of the process on it
 * (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
export class FileIdentity {
  readonly #file: Held | undefined;
  readonly #log: Held | undefined;
  /** False where the file system gives two answers to one question: then nothing can be said later. */
  readonly canTell: boolean;

  /** @param file of a database that is open */
  constructor(file: string) {
    // What cannot be opened cannot be compared.
    const hold = (name: string): Held | undefined =>
      orUndefined(() => ({ name, handle: fs.openSync(name, 'r') }));
    this.#file = hold(file);
    this.#log = hold(`${file}-wal`);
    this.canTell = !hasLostName(this.#file) && !hasLostName(this.#log);
  }

  /** Undefined where all is where it was. */
  nameless(): Nameless | undefined {
    if (!this.canTell) return undefined;
    if (hasLostName(this.#file)) return 'file';
    return this.hasLog ? undefined : 'log';
  }

  /** True where the log that stands beside the name of the file is the one of what is open. */
  get hasLog(): boolean {
    return !hasLostName(this.#log);
  }

  close(): void {
    for (const each of [this.#file, this.#log]) if (each !== undefined) fs.closeSync(each.handle);
  }
}

/** False where the disk does not answer: that is no other file. */
function hasLostName(held: Held | undefined): boolean {
  if (held === undefined) return true;
  const { name, handle } = held;
  try {
    const open = fs.fstatSync(handle, { bigint: true });
    const named = fs.statSync(name, { bigint: true, throwIfNoEntry: false });
    return named === undefined || open.nlink === 0n || named.dev !== open.dev || named.ino !== open.ino;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOTDIR';
  }
}

/** Time to wait for a lock that another process holds for a moment, in milliseconds. */
const BUSY_TIMEOUT = 2000;
/**
 * Bytes of a page of a new file. A commit writes whole pages, of which it fills only the last ones of some tables: small ones
 * halve what is written. A body has pages of its own.
 */
export const PAGE = 1024;
/** Memory for pages of the file, in KiB. */
const CACHE = 16 * 1024;
/** What the log may hold while there is no time to empty it, in bytes. */
const LOG = 32 * 1024 * 1024;

/** In place of a file: nothing of it is on a disk. */
export const IN_MEMORY = ':memory:';

/** A file that is checked quickly even from a cold disk, in bytes. */
const SMALL = 128 * 1024 * 1024;

/** What the pragmas must read after they were set: anything else is not durable. */
const REQUIRED: readonly [pragma: string, value: string][] = [
  ['locking_mode', 'exclusive'],
  ['journal_mode', 'wal'],
  ['synchronous', '2'],
];

/**
 * Opens the one file of an inbox, for this process alone: a lock keeps every other out. Each commit is on the disk when it
 * returns (`synchronous=FULL`, read back).
 * @throws Error where the file is locked, damaged, of a newer version, or cannot be made durable
 */
export function openDatabase(file: string): DatabaseSync {
  if (file !== IN_MEMORY) ensurePrivateFolder(path.dirname(file));
  // With nothing in the log the last process ended in peace: then a large file need not be read for it.
  const mustCheck = sizeOf(`${file}-wal`) > 0 || sizeOf(file) <= SMALL;
  const database = new DatabaseSync(file);
  try {
    if (file !== IN_MEMORY) makeDurable(database, file);
    database.exec('PRAGMA foreign_keys = ON');
    migrate(database);
    // Not the bodies, which are many times as large: a start has to be quick.
    const found = mustCheck ? valueOf(database, 'quick_check(message)') : 'ok';
    if (found !== 'ok') throw new DamagedError(found.slice(0, 200));
    // After a failed sync nobody knows what of the log is on the disk: written into the file, it is.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function makeDurable(database: DatabaseSync, file: string): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`);
  // Changes nothing in a file that is there: all of it would have to be written anew.
  database.exec(`PRAGMA page_size = ${PAGE}`);
  // Before the journal mode, so that no shared memory is needed.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  database.exec(`PRAGMA cache_size = -${CACHE}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.ceil(LOG / Number(valueOf(database, 'page_size')))}`);
  for (const [pragma, value] of REQUIRED) {
    const found = valueOf(database, pragma);
    if (found !== value) throw new Error(`it cannot be made durable, for ${pragma} is ${found}`);
  }
  fs.chmodSync(file, 0o600);
}

/** The file is no longer what was written. */
export class DamagedError extends Error {}

/** In bytes; 0 where there is none. */
export function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function valueOf(database: DatabaseSync, pragma: string): string {
  return String(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
}
