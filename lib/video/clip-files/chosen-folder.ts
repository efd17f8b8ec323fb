import fs from 'node:fs/promises';
import path from 'node:path';
import { RvmError } from '../../error';

/** Characters: longer ones are refused by every system. */
const LONGEST = 1024;

/**
 * The real place of a folder for clips: one that exists and can be written to.
 * @param below a folder in it, such as a message chose it; empty for none. Links are followed, and must not lead out.
 * @throws RvmError BAD_INPUT
 */
export async function chosenFolder(folder: string, below: string): Promise<string> {
  const root = await realFolder(folder, 'The folder for clips');
  const chosen = below === '' ? root : await folderBelow(path.resolve(folder), root, below);
  try {
    await fs.access(chosen, fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    throw badFolder(
      `${below === '' ? 'The folder for clips' : CHOSEN} cannot be written to: let Node-RED write there.`,
    );
  }
  return chosen;
}

const CHOSEN = 'The folder that the message chose for the clip';

async function folderBelow(folder: string, root: string, below: string): Promise<string> {
  const place = path.resolve(folder, below);
  const isPlain = below.length <= LONGEST && !below.includes('\0');
  // Before the system is asked: the answer would tell of any place whether there is something.
  if (!isPlain || !isBelow(folder, place)) throw outside();
  const real = await realFolder(place, CHOSEN);
  if (!isBelow(root, real)) throw outside();
  return real;
}

async function realFolder(folder: string, what: string): Promise<string> {
  const real = await fs.realpath(folder).catch(() => undefined);
  const isFolder = real !== undefined && (await fs.stat(real).catch(() => undefined))?.isDirectory();
  if (real === undefined || isFolder === undefined)
    throw badFolder(`${what} does not exist: make it, or choose another one.`);
  if (!isFolder) throw badFolder(`${what} is a file: choose a folder.`);
  return real;
}

function isBelow(root: string, place: string): boolean {
  const way = path.relative(root, place);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

function outside(): RvmError {
  return badFolder(`${CHOSEN} lies outside of the folder for clips: choose one inside.`);
}

function badFolder(message: string): RvmError {
  return new RvmError('BAD_INPUT', message);
}
