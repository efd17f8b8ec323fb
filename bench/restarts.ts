import fs from 'node:fs';
import { NodeRed, type FlowNode, type StartOptions } from '../test/support/node-red/node-red';

/** A Node-RED that is started again and again, as on a machine that has it for long. */
export class Restarts {
  private constructor(
    readonly userDir: string,
    private readonly options: StartOptions,
  ) {}

  /** Its first start, with a deploy: credentials come with nothing else. */
  static async prepare(
    flow: readonly FlowNode[],
    options: Pick<StartOptions, 'withoutPackage'> = {},
  ): Promise<Restarts> {
    const nodeRed = await NodeRed.start({ ...options, settings: SETTINGS });
    await nodeRed.deploy(flow);
    await nodeRed.stop();
    return new Restarts(nodeRed.userDir, options);
  }

  /** To be stopped by the caller. */
  start(): Promise<NodeRed> {
    return NodeRed.start({ ...this.options, userDir: this.userDir, settings: SETTINGS });
  }

  /** Seconds from the start of the process until its flows run, or one has an event. `signal` ends it right afterwards. */
  async secondsUntil(moment: 'started' | 'delivered', signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    const from = process.hrtime.bigint();
    const nodeRed = await this.start();
    try {
      const { at } = await nodeRed.message(moment, undefined, 60);
      return Number(BigInt(String(at)) - from) / 1e9;
    } finally {
      await nodeRed.stop(signal);
    }
  }

  remove(): void {
    fs.rmSync(this.userDir, { recursive: true, force: true });
  }
}

/** Reports when the flows were started, and when the first event came to a function node that counts it. */
const SETTINGS = `logging: {
    console: { level: 'info', metrics: false, audit: false },
    moments: {
      level: 'info', metrics: false, audit: false,
      handler: () => ({ msg }) => {
        if (msg === 'Started flows') process.send({ probe: 'started', msg: { at: String(process.hrtime.bigint()) } });
      },
    },
  },
  functionGlobalContext: {
    delivered: (() => {
      let isFirst = true;
      return () => {
        if (isFirst) process.send({ probe: 'delivered', msg: { at: String(process.hrtime.bigint()) } });
        isFirst = false;
      };
    })(),
  },`;
