import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { untilListening } from '../network/servers';
import { freePort, ROOT } from './node-red';

export const INTRODUCTION = /Stop with Ctrl-C/g;

/** Every Node process that a command starts writes down its id, so that none is forgotten. */
const NOTE_PID = `require('fs').appendFileSync(process.env.PIDS_FILE, process.pid + '\\n');\n`;

/** A command of a checkout that starts Node-RED, running, with all processes below it. */
export class RunningCommand {
  output = '';

  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
    private readonly pidsFile: string,
  ) {
    child.stdout?.on('data', (piece: Buffer) => (this.output += piece.toString()));
    child.stderr?.on('data', (piece: Buffer) => (this.output += piece.toString()));
  }

  /** Runs a command line until Node-RED listens and the introduction is there. */
  static async start(
    checkout: string,
    command: string,
    args: string[],
    env: Record<string, string> = {},
  ): Promise<RunningCommand> {
    const port = await freePort();
    const note = path.join(checkout, 'note-pid.js');
    const pidsFile = path.join(checkout, `pids-${port}`);
    fs.writeFileSync(note, NOTE_PID);
    fs.writeFileSync(pidsFile, '');
    const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --require "${note}"`;
    const own = { LC_ALL: 'C', PORT: `${port}`, PIDS_FILE: pidsFile, NODE_OPTIONS };
    const child = spawn(command, args, { cwd: checkout, env: { ...process.env, ...own, ...env } });
    const running = new RunningCommand(child, port, pidsFile);
    try {
      await running.says(INTRODUCTION);
      await untilListening(child, [port], () => running.output);
    } catch (error) {
      running.killAll();
      throw error;
    }
    return running;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pids(): number[] {
    const lines = fs.readFileSync(this.pidsFile, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map(Number);
  }

  /** Waits for a part of the output, where lines of several processes come in no order. */
  async says(part: RegExp, from = 0): Promise<void> {
    await this.until(() => this.output.slice(from).search(part) >= 0, `${part} in the output`);
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + 30_000;
    while (!condition() && performance.now() < deadline) await delay(20);
    assert.ok(condition(), `waited in vain for ${what}:\n${this.output}`);
  }

  /** Sends a signal to the command alone; passes once no process that it has started is left, and the output complete. */
  async endsWith(signal: NodeJS.Signals): Promise<void> {
    const { pids } = this;
    assert.ok(pids.some(isAlive), 'nothing runs');
    const ends = Promise.all([once(this.child, 'exit'), once(this.child, 'close')]);
    this.child.kill(signal);
    await this.until(() => !pids.some(isAlive), 'the end of all processes');
    await ends;
    await assert.rejects(fetch(this.url));
  }

  /** What a test that failed has left. */
  killAll(): void {
    for (const pid of this.pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
    this.child.kill('SIGKILL');
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that has ended, and whose end nobody has asked about yet.
  const state = path.join('/proc', `${pid}`, 'stat');
  return !fs.existsSync(state) || !/\) Z /.test(fs.readFileSync(state, 'utf8'));
}

/** Made here, and not part of what is checked out. */
const MADE = ['.git', '.node', '.start', 'coverage', 'dist', 'node_modules'];

/**
 * A copy of this checkout in a folder of its own, for scripts that write beside themselves; with the packages that are
 * installed here. `dist` is as it is here, and fresh, or absent. To be removed by the caller.
 */
export function copyCheckout(dist: 'built' | 'absent'): string {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'rvm-checkout-'));
  const parts = fs.readdirSync(ROOT).filter((name) => !MADE.includes(name) && !name.endsWith('.tgz'));
  const filter = (from: string): boolean => path.basename(from) !== 'node_modules';
  for (const part of dist === 'built' ? [...parts, 'dist'] : parts)
    fs.cpSync(path.join(ROOT, part), path.join(folder, part), { recursive: true, filter });
  const packages = path.join(folder, 'node_modules');
  linkPackages(packages);
  // What the scripts leave there once they have installed, or built: nothing is to be installed for a test.
  const lock = fs.readFileSync(path.join(ROOT, 'package-lock.json'));
  fs.writeFileSync(path.join(packages, '.installed'), createHash('sha256').update(lock).digest('hex'));
  if (dist === 'built') fs.writeFileSync(path.join(packages, '.built'), '');
  return folder;
}

function linkPackages(folder: string): void {
  fs.mkdirSync(folder);
  const here = path.join(ROOT, 'node_modules');
  for (const { name } of fs.readdirSync(here, { withFileTypes: true }).filter((entry) => !entry.isFile()))
    fs.symlinkSync(path.join(here, name), path.join(folder, name), 'junction');
}
