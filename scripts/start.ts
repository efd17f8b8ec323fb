/**
 * `npm start`: Node-RED on 127.0.0.1:1880 with this package loaded, the sandbox running and the first example flow
 * deployed. Its user directory is `.start/`, which stays, so that changes made in the editor are there again next time.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { buildIfStale, ROOT } from './build';

const USER_DIR = path.join(ROOT, '.start');
const EXAMPLE = path.join(ROOT, 'examples', '01 - Alarm and its video.json');
const PORT = process.env.PORT ?? '1880';

const SETTINGS = `module.exports = {
  uiHost: '127.0.0.1',
  flowFile: 'flows.json',
  credentialSecret: false,
  editorTheme: { tours: false },
  telemetry: { enabled: false, updateNotification: false },
};
`;

function prepareUserDir(): void {
  linkPackage();
  writeOnce(
    'package.json',
    `${JSON.stringify({ name: 'start', private: true, dependencies: {} }, null, 2)}\n`,
  );
  // 0.0.0.0 would open a fresh, unprotected editor to the whole network.
  writeOnce('settings.js', SETTINGS);
  writeOnce('flows.json', fs.readFileSync(EXAMPLE, 'utf8'));
}

/** Made anew each time: in a checkout that was copied or moved, the link of last time leads elsewhere, or nowhere. */
function linkPackage(): void {
  const packages = path.join(USER_DIR, 'node_modules', '@rvm');
  fs.mkdirSync(packages, { recursive: true });
  const link = path.join(packages, 'node-red-remote-monitoring');
  fs.rmSync(link, { force: true });
  fs.symlinkSync(ROOT, link, 'junction');
}

function writeOnce(name: string, text: string): void {
  const file = path.join(USER_DIR, name);
  if (!fs.existsSync(file)) fs.writeFileSync(file, text);
}

function introduction(): string {
  return [
    '',
    `  Open  http://127.0.0.1:${PORT}/`,
    '',
    '  The first example flow is running against the sandbox. Every few seconds an alarm comes in; the debug sidebar',
    '  (the beetle, top right) shows it and the RTSP URL of its video.',
    '',
    '  Try',
    '  - play a URL from the debug sidebar:   ffplay "rtsp://…"   or VLC, Media, Open Network Stream',
    '    (each URL opens one session, within five minutes)',
    '  - send something unproven, and see it refused with 401:',
    `    curl -i -X POST -d '{}' http://127.0.0.1:${PORT}/remote-monitoring/example-01`,
    '  - import the second example: menu, Import, Examples, @rvm/node-red-remote-monitoring',
    '',
    '  Stop with Ctrl-C. Start afresh by removing the folder .start.',
    '',
  ].join('\n');
}

let introduced = false;
buildIfStale();
prepareUserDir();
const red = path.join(ROOT, 'node_modules', 'node-red', 'red.js');
const child = spawn(process.execPath, [red, '--userDir', USER_DIR, '--port', PORT], {
  stdio: ['inherit', 'pipe', 'inherit'],
});
child.stdout.on('data', (piece: Buffer) => {
  process.stdout.write(piece);
  if (introduced || !piece.includes('Started flows')) return;
  introduced = true;
  process.stdout.write(`${introduction()}\n`);
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => {
  process.exitCode = code ?? 0;
});
