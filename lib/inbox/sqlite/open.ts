import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensurePrivateFolder } from '../../files';
import { migrate } from './schema';

/** Time to wait for a lock that another process holds for a moment, in milliseconds. */
export const BUSY_TIMEOUT = 2000;
/**
 * Bytes of a page of a new file. A commit writes whole pages, of which it fills only the last ones of some tables: small ones
 * halve what is written. A body has pages of its own.
 */
export const PAGE = 1024;
/** Memory for pages of the file, in KiB. */
const CACHE = 16 * 1024;
/** What the log may hold while there is no time to empty it, in bytes. */
const LOG = 32 * 1024 * 1024;

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
  ensurePrivateFolder(path.dirname(file));
  // With nothing in the log the last process ended in peace: then a large file need not be read for it.
  const mustCheck = sizeOf(`${file}-wal`) > 0 || sizeOf(file) <= SMALL;
  const database = new DatabaseSync(file);
  try {
    prepare(database, file, mustCheck);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function prepare(database: DatabaseSync, file: string, mustCheck: boolean): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`);
  // Changes nothing in a file that is there: all of it would have to be written anew.
  database.exec(`PRAGMA page_size = ${PAGE}`);
  // Before the journal mode, so that no shared memory is needed.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  database.exec('PRAGMA foreign_keys = ON');
  database.exec(`PRAGMA cache_size = -${CACHE}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.ceil(LOG / Number(valueOf(database, 'page_size')))}`);
  for (const [pragma, value] of REQUIRED) {
    const found = valueOf(database, pragma);
    if (found !== value) throw new Error(`it cannot be made durable, for ${pragma} is ${found}`);
  }
  fs.chmodSync(file, 0o600);
  migrate(database);
  if (mustCheck) check(database);
  // After a failed sync nobody knows what of the log is on the disk: written into the file, it is.
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Not the bodies, which are many times as large: a start has to be quick. */
function check(database: DatabaseSync): void {
  const found = valueOf(database, 'quick_check(message)');
  if (found !== 'ok') throw new DamagedError(found.slice(0, 200));
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
