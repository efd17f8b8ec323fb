import fs from 'node:fs/promises';
import path from 'node:path';
import { isClipName } from './clip-name';
import { isLeftOver } from './half-file';

const DAY = 24 * 60 * 60 * 1000;
/** Folders in folders that are looked into: a message may choose a way, and others may keep whole disks beside clips. */
const DEEPEST = 4;

export interface OldFiles {
  /** Days after which a clip is removed; 0 for never. */
  keepDays: number;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Removes half clips of processes that have ended, and clips that are too old, in a folder and in those below it. What has no name of
 * ours stays, and links are not followed. Never fails: what cannot be removed is left to the next time.
 */
export async function removeOldFiles(folder: string, old: OldFiles, depth = 0): Promise<void> {
  const entries = await fs.opendir(folder).catch(() => undefined);
  if (entries === undefined) return;
  try {
    for await (const entry of entries) {
      const place = path.join(folder, entry.name);
      if (entry.isDirectory() && depth < DEEPEST) await removeOldFiles(place, old, depth + 1);
      if (entry.isFile()) await removeIfOld(place, old);
    }
  } catch {
    // The folder is gone, or the disk fails: whoever writes there will say so.
  }
}

async function removeIfOld(file: string, { keepDays, now }: OldFiles): Promise<void> {
  const name = path.basename(file);
  const isClip = isClipName(name);
  if (!isClip && !name.startsWith('.clip-')) return;
  const stat = await fs.lstat(file).catch(() => undefined);
  if (stat === undefined) return;
  const age = now - stat.mtimeMs;
  const isOld = isClip ? keepDays > 0 && age > keepDays * DAY : isLeftOver(name, age);
  if (isOld) await fs.rm(file, { force: true }).catch(() => undefined);
}
