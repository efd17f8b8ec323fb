/** `npm start`: Node-RED on 127.0.0.1:1880 with this package, the sandbox running and the first example flow deployed. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { buildIfStale, ROOT } from './build';
import type { FolderLock } from '../lib/inbox/folder-lock';
import { prepareUserDir, takeUserDir, USER_DIR } from './user-dir';

const PORT = process.env.PORT ?? '1880';

function introduction(): string {
  return [
    '',
    `  Open  http://127.0.0.1:${PORT}/`,
    '',
    '  The first example flow is running against the sandbox. Every few seconds an alarm comes in. The sidebar of Remote',
    '  monitoring (the bell) shows it with its picture; a click on it plays its clip, a click on a camera shows it live.',
    '',
    '  Try',
    '  - open the page of an alarm: its address stands in the debug sidebar (the beetle), behind that of this Node-RED',
    '  - send something unproven, and see it refused with 401:',
    `    curl -i -X POST -d '{}' http://127.0.0.1:${PORT}/remote-monitoring/example-01`,
    '  - import the second example: menu, Import, Examples, @rvm/node-red-remote-monitoring',
    '',
    '  Stop with Ctrl-C. Start afresh by removing the folder .start.',
    '',
  ].join('\n');
}

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

/** The line with which Node-RED tells that its flows run, in each language: it logs in that of the terminal. */
function linesOfStart(red: string): string[] {
  const runtime = require.resolve('@node-red/runtime/package.json', { paths: [red] });
  const locales = path.join(path.dirname(runtime), 'locales');
  return fs.readdirSync(locales).map((language) => {
    const text = fs.readFileSync(path.join(locales, language, 'runtime.json'), 'utf8');
    const { nodes } = JSON.parse(text) as { nodes: { flows: { 'started-flows': string } } };
    return nodes.flows['started-flows'];
  });
}

function run(userDir: FolderLock): void {
  buildIfStale();
  prepareUserDir();
  const red = path.join(ROOT, 'node_modules', 'node-red', 'red.js');
  const started = linesOfStart(red);
  const child = spawn(process.execPath, [red, '--userDir', USER_DIR, '--port', PORT], {
    // Where its nodes save files under relative paths.
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
    process.stdout.write(`${introduction()}\n`);
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
