import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { webhookFlow } from '../node-red/flows';
import { freePort, NodeRed, ROOT, type FlowNode } from '../node-red/node-red';
import { TcpGate } from '../network/tcp-gate';
import { eventually } from '../time/patience';
import { steadyNow } from '../time/steady';
import type { ConfirmingSink } from './confirming-sink';
import { HandOverLog } from './hand-overs';

const WINDOW = 20;
const LOG_HAND_OVERS = path.join(__dirname, 'hand-over-log.js');

export interface InstanceOptions {
  /** For people, and for the sink. */
  name: string;
  /** URL of the PostgreSQL inbox; without it, the inbox is a SQLite file of its own. */
  connection?: string;
  /** The balancer gets at it through a gate that can be cut. */
  gated?: boolean;
  /** Events that its flow has at a time, at most. Default 20. */
  window?: number;
  /** Files that are loaded before Node-RED, to change it. */
  preload?: readonly string[];
}

/** One Node-RED of several: it may be killed, frozen, and started again in the same place. */
export class ClusterProcess {
  readonly handOvers: HandOverLog;
  /** Between the balancer and this instance. */
  gate: TcpGate | undefined;
  readonly #folder: string;
  /** When its present process was begun, by `steadyNow`. */
  startedAt = 0;
  #nodeRed: NodeRed | undefined;

  private constructor(
    private readonly options: InstanceOptions,
    readonly port: number,
  ) {
    this.#folder = fs.mkdtempSync(path.join(os.tmpdir(), `rvm-cluster-${options.name}-`));
    this.handOvers = new HandOverLog(path.join(this.#folder, 'hand-overs'), options.name);
  }

  /** @param sink where its flow brings the events */
  static async prepare(options: InstanceOptions, sink: ConfirmingSink): Promise<ClusterProcess> {
    const instance = new ClusterProcess(options, await freePort());
    if (options.gated) instance.gate = await TcpGate.start(instance.port);
    instance.#write(flowOf(options, sink));
    return instance;
  }

  get name(): string {
    return this.options.name;
  }

  /** Where the balancer finds it. */
  get reachedAt(): number {
    return this.gate?.port ?? this.port;
  }

  get window(): number {
    return this.options.window ?? WINDOW;
  }

  /** Messages that its flow has settled, in the life of its present process. */
  settled(): Set<unknown> {
    return new Set(this.#nodeRed?.at('settled').map(({ messageId }) => messageId));
  }

  get log(): string {
    return this.#nodeRed?.log ?? '';
  }

  get pid(): number {
    return this.#nodeRed?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#nodeRed?.isRunning ?? false;
  }

  /** Also after it has ended, on the same port and user directory. */
  async start(): Promise<void> {
    this.startedAt = steadyNow();
    const preload = [LOG_HAND_OVERS, ...(this.options.preload ?? [])];
    this.#nodeRed = await NodeRed.start({
      userDir: this.#folder,
      port: this.port,
      env: {
        NODE_OPTIONS: preload.map((file) => `--require "${file}"`).join(' '),
        HAND_OVERS: this.handOvers.file,
      },
    });
  }

  /** Its next start is with the package in this folder. */
  usePackage(folder: string): void {
    const own = path.join(this.#folder, 'node_modules', '@rvm', 'node-red-remote-monitoring');
    fs.rmSync(own, { force: true });
    fs.mkdirSync(path.dirname(own), { recursive: true });
    fs.symlinkSync(folder, own, 'junction');
  }

  /** Ends it as a service manager does. */
  async stop(): Promise<void> {
    await this.#nodeRed?.stop('SIGTERM');
  }

  /** Ends it as kill -9 does. */
  async kill(): Promise<void> {
    await this.#nodeRed?.stop('SIGKILL');
  }

  /** At the n-th of its hand-overs from now on it stands still until `resume`, as a machine does that is out of breath. */
  async frozenAt(nth: number, meanwhile: () => void): Promise<void> {
    const armed = `${this.handOvers.file}.freeze`;
    fs.writeFileSync(armed, String(nth));
    meanwhile();
    await eventually(() => !fs.existsSync(armed), `${this.name} to stand still`);
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Ends it, and removes all that it has written. */
  async remove(): Promise<void> {
    await this.kill();
    await this.gate?.close();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Secrets stand beside the flow file, in clear, as Node-RED keeps them without a credential secret. */
  #write(flow: readonly FlowNode[]): void {
    const secrets = flow.filter(({ credentials }) => credentials !== undefined);
    const kept = Object.fromEntries(secrets.map(({ id, credentials }) => [id, credentials]));
    const nodes = flow.map((node) => ({ ...node, credentials: undefined }));
    fs.writeFileSync(path.join(this.#folder, 'flows.json'), JSON.stringify(nodes));
    fs.writeFileSync(path.join(this.#folder, 'flows_cred.json'), JSON.stringify(kept));
    this.usePackage(ROOT);
    fs.writeFileSync(path.join(this.#folder, 'package.json'), '{"name":"test","private":true}');
  }
}

/** The copies of a flow have node ids of their own, for each was imported by itself; what they share is the path. */
function flowOf({ name, connection, window = WINDOW }: InstanceOptions, sink: ConfirmingSink): FlowNode[] {
  const inbox = {
    id: 'inbox',
    type: 'rvm-inbox',
    engine: 'postgres',
    schema: 'rvm',
    tls: 'off',
    instanceName: name,
    keyDays: 7,
    bodyDays: 30,
    credentials: { connection },
  };
  const webhook = {
    id: `webhook-${name}`,
    handledWhen: 'settled',
    maxInFlight: window,
    wires: [['sink'], ['sink'], []],
    ...(connection !== undefined && { inbox: 'inbox' }),
  };
  return [...webhookFlow({ webhook }, ...sink.nodes(name)), ...(connection === undefined ? [] : [inbox])];
}
