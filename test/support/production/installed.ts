import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePort } from '../node-red/node-red';
import { eventually } from '../time/patience';

/** Of the test alone; made with the fewest rounds. */
const PASSWORD = 'a word for the test';
export const HASH = '$2b$04$rV8K0593L0hx0E6/lWNk6eX0pF54x99X0UtPdY8A0aGPN9z2ZqqgO';
/** Where root runs the tests, Node-RED runs as nobody: as another user than the one to whom its programs belong. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export interface Run {
  /** Program and arguments, as the file has them, with places of this test. */
  command: string[];
  cwd: string;
  env: Record<string, string>;
}

/** A Node-RED as it runs in production, with nothing in its environment but what the files have. */
export class Installed {
  log = '';
  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
    readonly metricsPort: number,
  ) {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (piece: Buffer) => (this.log += piece.toString()));
  }

  static async start({ command, cwd, env }: Run): Promise<Installed> {
    const [port, metricsPort] = [await freePort(), await freePort()];
    // The rights of files as the unit has them.
    const child = spawn('/bin/sh', ['-c', 'umask 0077; exec "$0" "$@"', ...command], {
      cwd,
      env: { PATH: '/usr/bin:/bin', ...env, PORT: `${port}`, METRICS_PORT: `${metricsPort}` },
      ...NOBODY,
    });
    const installed = new Installed(child, port, metricsPort);
    const lines = ['Started flows', 'Server now running'];
    const runs = (): boolean => lines.every((line) => installed.log.includes(line));
    await eventually(() => runs() || child.exitCode !== null, 'the start of Node-RED');
    return installed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async statusOf(url: string, token?: string): Promise<number> {
    const headers = new Headers(token === undefined ? {} : { Authorization: `Bearer ${token}` });
    const response = await fetch(new URL(url, this.url), { headers });
    await response.arrayBuffer();
    return response.status;
  }

  async token(): Promise<string> {
    const user = { username: 'admin', password: PASSWORD };
    const grant = { client_id: 'node-red-admin', grant_type: 'password', scope: '*' };
    const body = new URLSearchParams({ ...grant, ...user });
    const response = await fetch(`${this.url}/auth/token`, { method: 'POST', body });
    return /"access_token":"([^"]+)"/.exec(await response.text())?.[1] ?? assert.fail('no login');
  }

  /** Ends it as a service manager does. @returns its exit code */
  async stop(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    return this.child.exitCode;
  }
}

export function folderOfNobody(name: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), name));
  if (NOBODY.uid !== undefined) fs.chownSync(folder, NOBODY.uid, NOBODY.gid);
  return folder;
}
