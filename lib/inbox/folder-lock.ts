import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Primary result code of SQLite: https://sqlite.org/rescode.html */
const BUSY = 5;

/** The right to a folder, which ends with its process, however that ends. */
export interface FolderLock {
  release(): void;
}

/** Where a folder has its lock, unless told otherwise. */
export const LOCK_FILE = 'lock';

/**
 * Takes a folder for this process: the lock of SQLite on an empty file, which the system lets go with the process, on every
 * system.
 * @param options `wait`: for who has it, in milliseconds
 * @returns undefined where somebody has it
 * @throws Error where the folder takes no lock
 */
export function lockFolder(folder: string, { name = LOCK_FILE, wait = 0 } = {}): FolderLock | undefined {
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

/** True where another process has the lock of a file. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === BUSY;
}
