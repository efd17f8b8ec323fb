'use strict';
// Needs nothing but Node's own modules, also of an old Node.
const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');

/** npm's own program file, so that npm can be run by any Node; undefined where it is not found. */
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
 * A Node binary of a version such as `24` or `22.13.0`, kept in `folder`. The npm packages named node-<platform>-<arch>
 * carry it as it is, so no install script runs. Undefined where it cannot be had. One that is there already is fetched anew
 * where its version will not do.
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

/** As the package says that carries it. */
function versionOf(binary) {
  return JSON.parse(fs.readFileSync(path.join(binary, '..', '..', 'package.json'), 'utf8')).version;
}

module.exports = { fetchNode, npmProgram };
