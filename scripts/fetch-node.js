'use strict';
// Uses only Node's built-in modules, and only what an old Node has.
const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');

/** The program file of npm, so that any Node can run it; undefined where it is not found. */
function npmProgram() {
  const beside = path.dirname(fs.realpathSync(process.execPath));
  const candidates = [
    process.env.npm_execpath,
    path.join(beside, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    path.join(beside, 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  return candidates.find((file) => file && file.endsWith('npm-cli.js') && fs.existsSync(file));
}

/**
 * Path of a Node binary of a version such as `24` or `22.13.0`, installed in `folder`; undefined where it cannot be fetched. The
 * npm packages named node-<platform>-<arch> contain it, without an install script. An installed one that is not `isGood` is
 * replaced.
 */
function fetchNode(version, folder, isGood = () => true) {
  const isWindows = process.platform === 'win32';
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`;
  const binary = path.join(folder, 'node_modules', name, 'bin', isWindows ? 'node.exe' : 'node');
  if (fs.existsSync(binary) && isGood(versionOf(binary))) return binary;

  const npm = npmProgram();
  if (npm === undefined) return undefined;
  fs.mkdirSync(folder, { recursive: true });
  const quiet = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  const args = [npm, 'install', '--prefix', folder, ...quiet, `${name}@${version}`];
  spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (!fs.existsSync(binary)) return undefined;
  fs.chmodSync(binary, 0o755);
  return binary;
}

/** Version of the package that contains the binary. */
function versionOf(binary) {
  return JSON.parse(fs.readFileSync(path.join(binary, '..', '..', 'package.json'), 'utf8')).version;
}

module.exports = { fetchNode, npmProgram };
