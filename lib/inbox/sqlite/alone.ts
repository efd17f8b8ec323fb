import path from 'node:path';
import { ensurePrivateFolder } from '../../files';
import { lockFolder, type FolderLock } from '../folder-lock';
import { BUSY_TIMEOUT } from './open';

/** Beside the file, for one that is damaged takes no lock that could be relied on. */
const LOCK_FILE = 'inbox.lock';

/** Files that this thread has. */
const held = new Set<string>();

/** Another process has the file. */
export class FileInUseError extends Error {
  /** As SQLite says it. */
  readonly errcode = 5;
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
  const lock = tryToLock(path.dirname(file));
  if (lock === 'taken') throw new FileInUseError('another process is opening the file');
  return lock;
}

function tryToLock(folder: string): FolderLock | 'taken' | undefined {
  try {
    ensurePrivateFolder(folder);
    return lockFolder(folder, { name: LOCK_FILE, wait: BUSY_TIMEOUT }) ?? 'taken';
  } catch {
    return undefined;
  }
}
