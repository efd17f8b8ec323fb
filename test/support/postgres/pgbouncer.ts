import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Client } from 'pg';
import { freePort } from '../node-red/node-red';
import { programPath } from '../suite/programs';
import { eventually } from '../time/patience';
import { IDENTITY } from './postgres-server';
import { ServerFiles } from './server-files';
import type { SharedServer } from './shared-server';

/** A pooler in front of a server, which gives each transaction whichever connection is free. */
export class PgBouncer {
  private constructor(
    private readonly files: ServerFiles,
    private readonly child: ChildProcess,
    private readonly port: number,
    private readonly database: string,
  ) {}

  /** For the `before` of tests, behind `needs(this, 'pgbouncer')`. */
  static async start(server: SharedServer): Promise<PgBouncer> {
    const files = new ServerFiles();
    const port = await freePort();
    const file = files.save('pgbouncer.ini', settings(server.port, port));
    const command = programPath('pgbouncer');
    if (command === undefined) throw new Error('pgbouncer is not installed');
    const child = spawn(command, [file.slice(1, -1)], { ...IDENTITY, stdio: 'ignore' });
    const pooler = new PgBouncer(files, child, port, server.name);
    await eventually(() => pooler.#answers(), 'PgBouncer to answer');
    return pooler;
  }

  get url(): string {
    return `postgres://admin@127.0.0.1:${this.port}/${this.database}`;
  }

  async remove(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await ended;
    }
    this.files.remove();
  }

  async #answers(): Promise<boolean> {
    if (this.child.exitCode !== null) throw new Error('PgBouncer has ended');
    const client = new Client(this.url);
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }
}

function settings(target: number, port: number): string {
  return `[databases]
* = user=admin host=127.0.0.1 port=${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
`;
}
