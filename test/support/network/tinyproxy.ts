import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { untilListening } from './listening';
import { freePort } from '../node-red/node-red';
import { programPath } from '../suite/programs';

/** A forward proxy as administrators install it, on the loopback interface. */
export class Tinyproxy {
  /** What it has logged: names and ports of CONNECT, whole addresses of other requests. */
  log = '';

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {
    for (const output of [child.stdout, child.stderr]) {
      output?.on('data', (piece: Buffer) => (this.log += piece.toString()));
    }
  }

  /** @param settings further lines of its configuration, such as `BasicAuth user password` */
  static async start(...settings: string[]): Promise<Tinyproxy> {
    const port = await freePort();
    const folder = mkdtempSync(path.join(tmpdir(), 'tinyproxy-'));
    const file = path.join(folder, 'tinyproxy.conf');
    const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Allow 127.0.0.1', 'LogLevel Info', 'Timeout 60'];
    writeFileSync(file, [...lines, ...settings, ''].join('\n'));
    const child = spawn(programPath('tinyproxy') ?? 'tinyproxy', ['-d', '-c', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const proxy = new Tinyproxy(port, folder, child);
    await proxy.#listening();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How often the log says that something was asked for. */
  count(text: string): number {
    return this.log.split('\n').filter((line) => line.includes('Request') && line.includes(text)).length;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGKILL');
      await once(this.child, 'exit');
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  #listening(): Promise<void> {
    return untilListening(this.child, [this.port], () => this.log);
  }
}
