/** The user directory of `npm start`: `.start/`. It persists, and with it all changes made in the editor. */
import fs from 'node:fs';
import path from 'node:path';
import { lockFolder, type FolderLock } from '../lib/inbox/folder-lock';
import { ROOT } from './build';

export const USER_DIR = path.join(ROOT, '.start');
const EXAMPLE = path.join(ROOT, 'examples', '01 - Alarm and its video.json');
const PACKAGE = '@rvm/node-red-remote-monitoring';

const SETTINGS = `module.exports = {
  uiHost: '127.0.0.1',
  flowFile: 'flows.json',
  credentialSecret: false,
  editorTheme: { tours: false },
  telemetry: { enabled: false, updateNotification: false },
};
`;

/** The fields of package.json that are used here. */
interface Manifest {
  name?: string;
  private?: boolean;
  dependencies?: Record<string, string>;
}

/** Locks the user directory. Undefined if another process has the lock: both would write the same flows. */
export function takeUserDir(): FolderLock | undefined {
  fs.mkdirSync(USER_DIR, { recursive: true });
  return lockFolder(USER_DIR, { name: 'start.lock' });
}

/**
 * Creates missing files in the user directory and links the package to this checkout; other content stays.
 * @param port port of Node-RED, used in the example flow
 */
export function prepareUserDir(port: string): void {
  linkPackage();
  namePackage();
  // 0.0.0.0 would open a fresh, unprotected editor to the whole network.
  writeOnce('settings.js', SETTINGS);
  const flow = fs.readFileSync(EXAMPLE, 'utf8');
  writeOnce('flows.json', flow.replaceAll('http://127.0.0.1:1880', `http://127.0.0.1:${port}`));
}

/** Created at each start: in a copied or moved checkout the previous link has a wrong target. */
function linkPackage(): void {
  const link = path.join(USER_DIR, 'node_modules', PACKAGE);
  fs.mkdirSync(path.dirname(link), { recursive: true });
  removePackage(link);
  fs.symlinkSync(ROOT, link, 'junction');
}

/** Removes the link, or the folder if the palette manager has installed the published package instead. */
function removePackage(place: string): void {
  const stat = fs.lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) fs.unlinkSync(place);
  else fs.rmSync(place, { recursive: true, force: true });
}

/** Adds the package to package.json: the palette manager runs npm, which removes unlisted packages. */
function namePackage(): void {
  const file = path.join(USER_DIR, 'package.json');
  const manifest = fs.existsSync(file) ? readManifest(file) : { name: 'start', private: true };
  const dependencies = { ...manifest.dependencies, [PACKAGE]: 'file:..' };
  fs.writeFileSync(file, `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
}

function readManifest(file: string): Manifest {
  return JSON.parse(fs.readFileSync(file, 'utf8')) as Manifest;
}

function writeOnce(name: string, text: string): void {
  const file = path.join(USER_DIR, name);
  if (!fs.existsSync(file)) fs.writeFileSync(file, text);
}
