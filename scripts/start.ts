/** `npm start`: runs Node-RED on 127.0.0.1:1880 with this package, the sandbox and the first example flow. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { buildIfStale, ROOT } from './build';
import { introduction } from './introduction';
import type { FolderLock } from '../lib/inbox/folder-lock';
import { prepareUserDir, takeUserDir, USER_DIR } from './user-dir';

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

const userDir = takeUserDir();
if (userDir !== undefined) run(userDir);
else {
  process.stderr.write(RUNS_ALREADY);
  process.exitCode = 1;
}
