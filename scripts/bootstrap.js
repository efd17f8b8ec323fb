'use strict';
// Runs first in every command of this project. Uses only Node's built-in modules, and only what an old Node has: finds or
// fetches a Node that is new enough, installs the packages of package-lock.json, then runs scripts/<task>.ts.
const { spawn } = require('child_process');
const { createHash } = require('crypto');
const fs = require('fs');
const path = require('path');
const { fetchNode, npmProgram } = require('./fetch-node');

const ROOT = path.join(__dirname, '..');
const NEEDED = require('../package.json').engines.node;
const FETCHED_NODE = '24';
const TASKS = ['start', 'test', 'build', 'sandbox', 'pictures', 'soak', 'bench', 'fuzz', 'coverage'];
/** Packages that the example flows need. In a folder of their own, because Node-RED would always load them otherwise. */
const PALETTE = path.join('test', 'palette');
const TASKS_WITH_PALETTE = ['test', 'coverage', 'pictures'];

/** The task, or the installations before it. */
const running = new Set();

function stop(signal) {
  for (const child of running) child.kill(signal);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  stop('SIGTERM');
  process.exit(1);
}

function isNewEnough(version) {
  return version.localeCompare(NEEDED.replace('>=', ''), 'en', { numeric: true }) >= 0;
}

function fetchedNode() {
  // To stderr: another program may read the output of the task.
  process.stderr.write(
    `Node ${process.versions.node} is too old (needs ${NEEDED}): using Node ${FETCHED_NODE} in .node\n`,
  );
  const found = fetchNode(FETCHED_NODE, path.join(ROOT, '.node'), isNewEnough);
  return found || fail(`No newer Node could be fetched: install Node.js ${NEEDED} and try again.`);
}

/** Runs the chosen Node until it exits. Resolves with its exit code; 1 where a signal ended it. */
function run(node, args, cwd, stdio) {
  return new Promise((resolve) => {
    const child = spawn(node, args, { cwd, stdio, env: environment(node) });
    running.add(child);
    child.on('error', (error) => fail(`could not start ${args[0]}: ${error.message}`));
    child.on('exit', (code, signal) => {
      running.delete(child);
      resolve(code === null || signal !== null ? 1 : code);
    });
  });
}

/** @param how arguments of npm that install the packages of the folder's lock file without changing it */
async function installPackages(node, folder, how) {
  const lock = fs.readFileSync(path.join(folder, 'package-lock.json'));
  const mark = path.join(folder, 'node_modules', '.installed');
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (fs.existsSync(mark) && fs.readFileSync(mark, 'utf8') === wanted) return;

  process.stderr.write('Installing packages (first time, or the list has changed)\n');
  const npm = npmProgram() || fail('npm was not found: start this with "npm start" or "npm test".');
  const args = [npm].concat(how, '--ignore-scripts', '--no-audit', '--no-fund');
  const code = await run(node, args, folder, ['inherit', 2, 2]);
  if (code !== 0) fail(`npm ${how[0]} failed: see the lines above.`);
  fs.writeFileSync(mark, wanted);
}

/** PATH with the chosen Node first, for the programs that the tasks start. */
function environment(node) {
  const env = Object.assign({}, process.env);
  const key = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') || 'PATH';
  env[key] = [path.dirname(node), path.join(ROOT, 'node_modules', '.bin'), env[key]].join(path.delimiter);
  return env;
}

const task = process.argv[2];
if (!TASKS.includes(task)) fail(`usage: node scripts/bootstrap.js ${TASKS.join('|')}`);

async function main() {
  const node = isNewEnough(process.versions.node) ? process.execPath : fetchedNode();
  await Promise.all([
    installPackages(node, ROOT, ['ci']),
    // One of these packages bundles others without all their dependencies, which `npm ci` refuses.
    TASKS_WITH_PALETTE.includes(task) &&
      installPackages(node, path.join(ROOT, PALETTE), ['install', '--no-save']),
  ]);
  const args = ['--import=tsx', path.join(ROOT, 'scripts', `${task}.ts`)].concat(process.argv.slice(3));
  process.exit(await run(node, args, ROOT, 'inherit'));
}

// A signal to this process is meant for what it runs. When npm is stopped, it ends only the shell between it and this process.
const parent = process.ppid;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal));
setInterval(() => {
  if (process.ppid !== parent) stop('SIGTERM');
}, 1000);

main().catch((error) => fail(error.message));
