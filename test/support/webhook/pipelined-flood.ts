import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { endProcess } from '../network/servers';

export interface Flood {
  port: number;
  path: string;
  connections: number;
  /** Of each connection, in one write. */
  posts: number;
}

/** Many connections with many tiny forged posts each, out of a process of their own. */
export class PipelinedFlood {
  private constructor(private readonly child: ChildProcess) {}

  /** Resolves when it has begun. */
  static async start(flood: Flood): Promise<PipelinedFlood> {
    const child = fork(path.join(__dirname, 'pipelined-flood.js'), [JSON.stringify(flood)]);
    await once(child, 'message');
    return new PipelinedFlood(child);
  }

  async stop(): Promise<void> {
    await endProcess(this.child);
  }
}
