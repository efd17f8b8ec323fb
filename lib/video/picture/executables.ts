import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * The files that a program's name may mean: in the folders of the PATH, in their order. By absolute path, as Windows would look
 * into the working folder first.
 */
export async function executablesOnPath(name: string): Promise<string[]> {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  return executablesAmong(folders.map((folder) => path.join(folder, file)));
}

/** Those that are files and may be run. */
export async function executablesAmong(files: readonly string[]): Promise<string[]> {
  const known = await Promise.all(files.map(async (file) => ((await isExecutable(file)) ? [file] : [])));
  return known.flat();
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
