'use strict';
// First thing every command of this project runs. Needs nothing but Node's own modules, also of an old Node:
// finds or fetches a Node that is new enough, installs what package-lock.json names, then hands over to scripts/<task>.ts.
const { spawn, spawnSync } = require('child_process');
const { createHash } = require('crypto');
const fs = require('fs');
const path = require('path');

const ROOT = path.join(__dirname, '..');
const NODE_FLOOR = [22, 13];
const FETCHED_NODE = '24';
const TASKS = ['start', 'test', 'build', 'sandbox', 'pictures'];

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function run(command, args, options) {
  const result = spawnSync(command, args, Object.assign({ stdio: 'inherit', cwd: ROOT }, options));
  if (result.error) fail(`could not run ${path.basename(command)}: ${result.error.message}`);
  return result;
}

/** npm's own program file, so that npm can be run by any Node. */
function npmProgram() {
  const beside = path.dirname(fs.realpathSync(process.execPath));
  const candidates = [
    process.env.npm_execpath,
    path.join(beside, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    path.join(beside, 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  const found = candidates.find((file) => file && file.endsWith('npm-cli.js') && fs.existsSync(file));
  return found || fail('npm was not found: start this with "npm start" or "npm test".');
}

function isNewEnough(version) {
  const parts = version.split('.').map(Number);
  return parts[0] > NODE_FLOOR[0] || (parts[0] === NODE_FLOOR[0] && parts[1] >= NODE_FLOOR[1]);
}

/** The npm packages named node-<platform>-<arch> carry Node's binary as it is; no install script runs. */
function fetchedNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const folder = path.join(ROOT, '.node');
  const bin = path.join(folder, 'node_modules', name, 'bin');
  const binary = path.join(bin, process.platform === 'win32' ? 'node.exe' : 'node');
  if (fs.existsSync(binary)) return binary;

  process.stdout.write(
    `Node ${process.versions.node} is too old (needs ${NODE_FLOOR.join('.')}): fetching Node ${FETCHED_NODE} into .node\n`,
  );
  fs.mkdirSync(folder, { recursive: true });
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    `${name}@${FETCHED_NODE}`,
  ];
  run(process.execPath, [npmProgram()].concat(args), { stdio: ['ignore', 'ignore', 'inherit'] });
  if (!fs.existsSync(binary)) {
    fail(
      `No Node for ${process.platform} ${process.arch} could be fetched: install Node.js ${NODE_FLOOR.join('.')} or newer and try again.`,
    );
  }
  fs.chmodSync(binary, 0o755);
  return binary;
}

function installPackages(node) {
  const lock = fs.readFileSync(path.join(ROOT, 'package-lock.json'));
  const mark = path.join(ROOT, 'node_modules', '.installed');
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (fs.existsSync(mark) && fs.readFileSync(mark, 'utf8') === wanted) return;

  process.stdout.write('Installing packages (first time, or the list has changed)\n');
  const result = run(node, [npmProgram(), 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    env: environment(node),
  });
  if (result.status !== 0) fail('npm ci failed: see the lines above.');
  fs.writeFileSync(mark, wanted);
}

/** Programs that the tasks start find the chosen Node first. */
function environment(node) {
  const env = Object.assign({}, process.env);
  const key = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') || 'PATH';
  env[key] = [path.dirname(node), path.join(ROOT, 'node_modules', '.bin'), env[key]].join(path.delimiter);
  return env;
}

const task = process.argv[2];
if (!TASKS.includes(task)) fail(`usage: node scripts/bootstrap.js ${TASKS.join('|')}`);

const node = isNewEnough(process.versions.node) ? process.execPath : fetchedNode();
installPackages(node);

const child = spawn(
  node,
  ['--import=tsx', path.join(ROOT, 'scripts', `${task}.ts`)].concat(process.argv.slice(3)),
  { cwd: ROOT, stdio: 'inherit', env: environment(node) },
);
child.on('error', (error) => fail(`could not start the task: ${error.message}`));
child.on('exit', (code, signal) => process.exit(code === null || signal !== null ? 1 : code));

// Whoever stops this process means the task. npm, when it is stopped, ends only the shell between it and us.
const parent = process.ppid;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
setInterval(() => {
  if (process.ppid !== parent) child.kill('SIGTERM');
}, 1000);
