import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Authority } from '../network/certificates';
import { ReverseProxy } from '../network/proxies';
import { TcpGate } from '../network/servers';
import { PATH, webhookFlow } from '../node-red/flows';
import { type FlowNode, freePort, NodeRed, ROOT } from '../node-red/node-red';
import { steadyNow } from '../time/event-loop';
import { eventually } from '../time/patience';
import { AlarmSender, ConfirmingSink, type HandOver, HandOverLog, type Tally, tallyOf } from './records';

const LOOK = 50;

/** Several real Node-RED behind a balancer, between a sender that resends and a sink that confirms. */
export class Cluster {
  readonly sink = new ConfirmingSink();
  sender!: AlarmSender;
  instances: readonly ClusterProcess[] = [];
  readonly #authority = new Authority();
  #balancer: ReverseProxy | undefined;
  /** When it was begun. */
  #round = 0;

  static async start(instances: readonly InstanceOptions[]): Promise<Cluster> {
    const cluster = new Cluster();
    try {
      await cluster.#start(instances);
      return cluster;
    } catch (error) {
      await cluster.end();
      throw error;
    }
  }

  instance(name: string): ClusterProcess {
    const found = this.instances.find((each) => each.name === name);
    if (found === undefined) throw new Error(`There is no instance ${name}.`);
    return found;
  }

  /** Of all instances, oldest first; of this round alone, unless told otherwise. */
  handOvers(since = this.#round): HandOver[] {
    const all = this.instances.flatMap(({ handOvers }) => handOvers.since(since));
    return all.sort((one, other) => one.at - other.at);
  }

  /** The sender goes on. What came of events before it is looked at no more, but by the tally: each of them is settled. */
  beginRound(pause: number): void {
    this.#round = steadyNow();
    this.sender.begin(pause);
  }

  async progress(count = 50): Promise<void> {
    const before = this.sender.acknowledged.length;
    const isThere = (): boolean => this.sender.acknowledged.length >= before + count;
    await this.until(isThere, `${count} more acknowledged events`);
  }

  /** The sink confirms nothing of this instance until it is let go. Resolves when its flow has so many events. */
  async load(instance: ClusterProcess, count = 3): Promise<void> {
    this.sink.hold(instance.name);
    const isLoaded = (): boolean => this.heldBy(instance).length >= count;
    await this.until(isLoaded, `${count} events at ${instance.name}`);
  }

  /** Waits until an instance has settled all that the sink has confirmed to it. */
  async settledBy(instance: ClusterProcess): Promise<void> {
    const { name, startedAt } = instance;
    const confirmed = this.sink.confirmations.filter((each) => each.instance === name && each.at > startedAt);
    const isSettled = (): boolean => {
      const settled = instance.settled();
      return confirmed.every(({ messageId }) => settled.has(messageId));
    };
    await this.until(isSettled, `${name} to settle what is confirmed`);
  }

  /** Events that are with the flow of an instance, and that the sink has not confirmed. */
  heldBy({ name }: ClusterProcess): string[] {
    const last = new Map(this.handOvers().map(({ messageId, instance }) => [messageId, instance]));
    return [...last].flatMap(([id, instance]) => (instance === name && !this.sink.has(id) ? id : []));
  }

  /**
   * Waits until other instances have these events of one.
   * @param since when it was ended, by `steadyNow`
   * @returns when they had the last of them, by `steadyNow`
   */
  async takenOver(from: ClusterProcess, events: readonly string[], since: number): Promise<number> {
    const first = new Map<string, number>();
    const isTaken = (): boolean => {
      for (const { messageId, instance, at } of this.handOvers())
        if (instance !== from.name && at > since && !first.has(messageId)) first.set(messageId, at);
      return events.every((id) => first.has(id));
    };
    await this.until(isTaken, `others to take over from ${from.name}`);
    return Math.max(...events.map((id) => first.get(id) ?? NaN));
  }

  until(condition: () => boolean, what: string): Promise<void> {
    return eventually(condition, what, LOOK);
  }

  /** Lets the sender come to an end, waits until the sink has confirmed all that was acknowledged, and counts. */
  async tally(): Promise<Tally> {
    await this.sender.end();
    const isOver = (): boolean => this.sender.acknowledged.every(({ messageId }) => this.sink.has(messageId));
    // What is missing then is told by the tally, which says how many.
    await this.until(isOver, 'every event').catch(() => undefined);
    const { confirmations } = this.sink;
    return tallyOf({ sent: this.sender.sent, confirmations, handOvers: this.handOvers(0) });
  }

  async end(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.remove()));
    await this.#balancer?.stop();
    await this.sender?.giveUp();
    await this.sink.close();
    this.#authority.remove();
  }

  async #start(options: readonly InstanceOptions[]): Promise<void> {
    await this.sink.start();
    this.instances = await Promise.all(options.map((each) => ClusterProcess.prepare(each, this.sink)));
    const upstream = this.instances.map(({ reachedAt }) => reachedAt);
    this.#balancer = await ReverseProxy.start('nginx before several', {
      upstream,
      authority: this.#authority,
    });
    this.sender = new AlarmSender(`http://127.0.0.1:${this.#balancer.httpPort}${PATH}`);
    // Where one fails, none is still about to start when all are removed.
    const starts = await Promise.allSettled(this.instances.map((instance) => instance.start()));
    const failure = starts.find((start) => start.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }
}

const WINDOW = 20;
const LOG_HAND_OVERS = path.join(__dirname, 'hand-over-log.js');

interface InstanceOptions {
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

  async stop(): Promise<void> {
    await this.#nodeRed?.stop('SIGTERM');
  }

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

/** A further step of the schema, as a next version might take it: those before go on beside it. */
const STEP = `
const stepsBefore = migrations;
migrations = (schema) => [
  ...stepsBefore(schema),
  \`ALTER TABLE "\${schema}".message ADD COLUMN remark text; CREATE INDEX message_remark ON "\${schema}".message (remark)\`,
];
exports.SCHEMA_VERSION = migrations('').length;
`;

/** A copy of the built package whose schema is one version ahead. To be removed by the caller. @returns its folder */
export function newerPackage(): string {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'rvm-newer-'));
  fs.copyFileSync(path.join(ROOT, 'package.json'), path.join(folder, 'package.json'));
  fs.cpSync(path.join(ROOT, 'dist'), path.join(folder, 'dist'), { recursive: true });
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
  const schema = path.join(folder, 'dist', 'lib', 'inbox', 'postgres', 'schema.js');
  fs.writeFileSync(schema, fs.readFileSync(schema, 'utf8') + STEP);
  return folder;
}

/**
 * Set to `full` by hand, for the numbers of the proof: thirty kills, a minute without any instance. By default there are as
 * many as show the same within a few minutes.
 */
const SCALE_VARIABLE = 'RVM_CLUSTER';

export function scaled(usual: number, full: number): number {
  return process.env[SCALE_VARIABLE] === 'full' ? full : usual;
}

export type Plan = Omit<InstanceOptions, 'connection'>;

export function sharing(connection: string, ...instances: (string | Plan)[]): InstanceOptions[] {
  return instances.map((each) => ({ ...(typeof each === 'string' ? { name: each } : each), connection }));
}

/** Runs a scenario with a cluster of its own, which is ended whatever comes. */
export async function withCluster(
  instances: readonly InstanceOptions[],
  scenario: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const cluster = await Cluster.start(instances);
  try {
    await scenario(cluster);
  } finally {
    await cluster.end();
  }
}
