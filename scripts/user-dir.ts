/**
 * The user directory of the Node-RED of `npm start`: `.start/`, which stays, so that changes made in the editor are there
 * again next time.
 */
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

/** What a package.json holds, as far as it matters here. */
interface Manifest {
  name?: string;
  private?: boolean;
  dependencies?: Record<string, string>;
}

/** Takes it for this process. Undefined where another one has it: both would write the same flows. */
export function takeUserDir(): FolderLock | undefined {
  fs.mkdirSync(USER_DIR, { recursive: true });
  return lockFolder(USER_DIR, { name: 'start.lock' });
}

/**
 * Makes what is missing in it, and leads its link to this checkout; what was added or changed there stays.
 * @param port where its pages are to be had
 */
export function prepareUserDir(port: string): void {
  linkPackage();
  namePackage();
  // 0.0.0.0 would open a fresh, unprotected editor to the whole network.
  writeOnce('settings.js', SETTINGS);
  const flow = fs.readFileSync(EXAMPLE, 'utf8');
  writeOnce('flows.json', flow.replaceAll('http://127.0.0.1:1880', `http://127.0.0.1:${port}`));
}

/** Made anew each time: in a checkout that was copied or moved, the link of last time leads elsewhere, or nowhere. */
function linkPackage(): void {
  const link = path.join(USER_DIR, 'node_modules', PACKAGE);
  fs.mkdirSync(path.dirname(link), { recursive: true });
  removePackage(link);
  fs.symlinkSync(ROOT, link, 'junction');
}

/** A folder is there where the palette manager has installed the published package in the place of the link. */
function removePackage(place: string): void {
  const stat = fs.lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) fs.unlinkSync(place);
  else fs.rmSync(place, { recursive: true, force: true });
}

/** npm runs whenever the palette manager installs or removes a node, and removes what package.json does not name. */
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
