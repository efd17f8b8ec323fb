import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type FolderLock, lockFolder } from '../lib/inbox/sqlite/database';
import { buildIfStale, ROOT } from './build';

/**
 * Where the editor shows the buttons that open the debug sidebar (beetle) and that of Remote monitoring (bell).
 * @param version of Node-RED, such as 5.0.7
 */
export function sidebarPlaces(version: string): { beetle: string; bell: string } {
  if (Number.parseInt(version, 10) >= 5)
    return { beetle: 'the beetle at the bottom right', bell: 'the bell at the bottom right' };
  // It has space for few buttons there: those of plugins are in a menu.
  const bell = 'the bell in the menu behind the arrow at the top right';
  return { beetle: 'the beetle at the top right', bell };
}

/** The text that `npm start` prints once the flows run. */
export function introduction(port: string, version: string): string {
  const { beetle, bell } = sidebarPlaces(version);
  return [
    '',
    `  Open  http://127.0.0.1:${port}/`,
    '',
    '  The first example flow is running against the sandbox. Every few seconds an alarm comes in. The sidebar of Remote',
    `  monitoring (${bell}) shows it with its picture:`,
    '  a click on that plays its clip, a click on a camera shows it live.',
    '',
    '  Try',
    `  - open the page of an alarm: its address stands in the debug sidebar (${beetle})`,
    '  - send something unproven, and see it refused with 401:',
    `    curl -i -X POST -d '{}' http://127.0.0.1:${port}/remote-monitoring/example-01`,
    '  - import the second example: menu, Import, Examples, @rvm/node-red-remote-monitoring',
    '',
    '  Stop with Ctrl-C. Start afresh by removing the folder .start.',
    '',
  ].join('\n');
}

const USER_DIR = path.join(ROOT, '.start');
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

/**
 * Creates missing files in the user directory and links the package to this checkout; other content stays.
 * @param port port of Node-RED, used in the example flow
 */
function prepareUserDir(port: string): void {
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
function removePackage(folder: string): void {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) fs.unlinkSync(folder);
  else fs.rmSync(folder, { recursive: true, force: true });
}

/** Adds the package to package.json: the palette manager runs npm, which removes unlisted packages. */
function namePackage(): void {
  const file = path.join(USER_DIR, 'package.json');
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '{"name":"start","private":true}';
  const manifest = JSON.parse(text) as { dependencies?: Record<string, string> };
  const dependencies = { ...manifest.dependencies, [PACKAGE]: 'file:..' };
  fs.writeFileSync(file, `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
}

function writeOnce(name: string, text: string): void {
  const file = path.join(USER_DIR, name);
  if (!fs.existsSync(file)) fs.writeFileSync(file, text);
}

const PORT = process.env.PORT ?? '1880';

const RUNS_ALREADY = [
  '',
  '  Another "npm start" runs in this checkout already: its Node-RED has the folder .start.',
  '',
  '  - Stop that one first, with Ctrl-C in its terminal.',
  '  - Another PORT alone does not help: both would write the same flows, and one of them would have no inbox.',
  '  - Two side by side: start the second one in another checkout, with a PORT of its own.',
  '',
  '',
].join('\n');

/** The log line for started flows in all languages: Node-RED logs in the language of the terminal. */
function linesOfStart(red: string): string[] {
  const runtime = require.resolve('@node-red/runtime/package.json', { paths: [red] });
  const locales = path.join(path.dirname(runtime), 'locales');
  return fs.readdirSync(locales).map((language) => {
    const text = fs.readFileSync(path.join(locales, language, 'runtime.json'), 'utf8');
    const { nodes } = JSON.parse(text) as { nodes: { flows: { 'started-flows': string } } };
    return nodes.flows['started-flows'];
  });
}

function versionOf(red: string): string {
  const text = fs.readFileSync(path.join(path.dirname(red), 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function run(userDir: FolderLock): void {
  buildIfStale();
  prepareUserDir(PORT);
  const red = path.join(ROOT, 'node_modules', 'node-red', 'red.js');
  const started = linesOfStart(red);
  const child = spawn(process.execPath, [red, '--userDir', USER_DIR, '--port', PORT], {
    // Nodes save files with relative paths in this folder.
    cwd: USER_DIR,
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  let introduced = false;
  let untilStarted = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    process.stdout.write(piece);
    if (introduced) return;
    untilStarted += piece;
    if (!started.some((line) => untilStarted.includes(line))) return;
    introduced = true;
    process.stdout.write(`${introduction(PORT, versionOf(red))}\n`);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => {
    userDir.release();
    process.exitCode = code ?? 0;
  });
}

function main(): void {
  fs.mkdirSync(USER_DIR, { recursive: true });
  const userDir = lockFolder(USER_DIR, { name: 'start.lock' });
  if (userDir !== undefined) return run(userDir);
  process.stderr.write(RUNS_ALREADY);
  process.exitCode = 1;
}

// A test imports what is printed.
if (require.main === module) main();
