import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { Store } from '../../../lib/inbox/sqlite/store';
import { endProcess } from '../network/servers';
import { PATH, PHRASE } from '../node-red/flows';
import { entrance, freePort, inject, NodeRed, probe, ROOT, type FlowNode } from '../node-red/node-red';
import { temporaryFolder } from '../suite/temporary-folder';
import { eventually } from '../time/patience';
import { post } from '../webhook/alarm-message';
import { FileSink, OnceSink, sentFlow, settledFlow, type Arrival } from '../webhook/sinks';

/** Points on the way of an alarm at which kill-points.js can kill, and when that is. */
export const POINTS = {
  'body-read': 'its body is read',
  verified: 'it is verified',
  inserted: 'it is inserted, before the commit',
  committed: 'it is committed (C-75)',
  answered: 'it is answered',
  dispatched: 'it is dispatched (C-76)',
  settled: 'the flow is done with it, before that is stored',
  marked: 'it is marked',
} as const;
type Point = keyof typeof POINTS;
export const POINT_NAMES = Object.keys(POINTS) as Point[];

/** Ends the process by an uncaught exception, when asked. */
const THROWER: FlowNode[] = [
  ...entrance('throw', 'thrower'),
  {
    id: 'thrower',
    type: 'function',
    z: 'tab',
    func: `timers.setImmediate(() => { throw new Error('of another node'); });`,
    libs: [{ var: 'timers', module: 'timers' }],
    wires: [[]],
  },
];
/** Lists the events that are not settled, when asked. */
const OPEN_EVENTS: FlowNode[] = [
  ...entrance('list', 'open-events'),
  { id: 'open-events', type: 'rvm-list-events', z: 'tab', state: 'open', wires: [['open'], []] },
  probe('open'),
];

/** A Node-RED to kill and to start again, between a sender and a sink that outlive it. */
export class Victim {
  sandbox!: SandboxProcess;
  nodeRed!: NodeRed;
  readonly #folder = temporaryFolder('kill');
  /** Gets the events where they are handled when sent, and the problems. */
  readonly #file = new FileSink(path.join(this.#folder, 'sink'));
  /** Gets the events where they are handled when settled. */
  readonly #sink = new OnceSink();
  readonly #armed = path.join(this.#folder, 'kill');
  #port = 0;

  constructor(private readonly handledWhen: 'sent' | 'settled') {}

  async start(): Promise<void> {
    this.#port = await freePort();
    await this.#sink.start();
    this.sandbox = await SandboxProcess.start(`http://127.0.0.1:${this.#port}${PATH}`, PHRASE);
    await this.startAgain();
    const isSent = this.handledWhen === 'sent';
    const flow = isSent ? sentFlow(this.#file) : settledFlow(this.#file, this.#sink);
    await this.nodeRed.deploy([...flow, ...THROWER, ...OPEN_EVENTS]);
  }

  /** On the same user directory and port. */
  async startAgain(): Promise<void> {
    this.nodeRed = await NodeRed.start({
      userDir: this.#folder,
      port: this.#port,
      env: {
        NODE_OPTIONS: `--require "${path.join(ROOT, 'test', 'support', 'inbox', 'kill-points.js')}"`,
        KILL_FILE: this.#armed,
      },
    });
  }

  /** From now on it is killed at the n-th passing of a point. */
  arm(point: Point, nth: number): void {
    fs.writeFileSync(this.#armed, `${point} ${nth}`);
  }

  disarm(): void {
    fs.rmSync(this.#armed, { force: true });
  }

  get isArmed(): boolean {
    return fs.existsSync(this.#armed);
  }

  /** Lets the sender resend, and waits for all that was raised to arrive; what comes twice must say so. */
  async checkAll(): Promise<void> {
    await this.sandbox.resendAll();
    await eventually(() => this.#missing() === 0, 'every event');
    this.#checkRepeats();
  }

  /** Waits for nothing to be open any more, and stops it for good. Each event must be in the store, once. */
  async checkStore(): Promise<void> {
    await this.#allSettled();
    await this.nodeRed.stop();
    const file = path.join(this.#folder, 'remote-monitoring', 'inbox.sqlite');
    const store = new Store({ file, resumed: true });
    const stored = store.work.list({ state: 'all', limit: 1_000_000 });
    store.close();
    assert.deepEqual(new Set(stored.map(({ state }) => state)), new Set(['delivered']));
    assert.deepEqual(stored.map(({ id }) => id).sort(), [...this.sandbox.raised].sort());
    if (this.handledWhen === 'settled') assert.equal(this.#sink.taken().length, stored.length);
  }

  /** Events that came more often than once. */
  repeats(): number {
    return this.#arrivals().length - new Set(this.#arrivals().map(({ messageId }) => messageId)).size;
  }

  async end(): Promise<void> {
    await this.nodeRed?.stop('SIGKILL');
    await this.sandbox?.stop();
    await this.#sink.close();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  #arrivals(): Arrival[] {
    return this.handledWhen === 'sent' ? this.#file.events() : this.#sink.arrivals;
  }

  #missing(): number {
    const there = new Set(this.#arrivals().map(({ messageId }) => messageId));
    return this.sandbox.raised.filter((messageId) => !there.has(messageId)).length;
  }

  /** What came again came under the same delivery id, with a higher attempt, and output 3 said so. */
  #checkRepeats(): void {
    const problems = this.#file.all().filter(({ kind }) => kind === 'uncertain');
    const uncertain = new Set(problems.map(({ deliveryId }) => deliveryId));
    const last = new Map<string, Arrival>();
    for (const arrival of this.#arrivals()) {
      const { messageId, deliveryId, attempt = 0 } = arrival;
      const former = last.get(messageId);
      last.set(messageId, arrival);
      if (former === undefined) continue;
      assert.equal(deliveryId, former.deliveryId);
      assert.ok(attempt > (former.attempt ?? 0), `attempt ${attempt} after ${former.attempt}`);
      assert.ok(uncertain.has(deliveryId), 'output 3 was not told');
    }
  }

  async #allSettled(): Promise<void> {
    let asked = 0;
    const isSettled = async (): Promise<boolean> => {
      asked += 1;
      await inject(this.nodeRed, 'list', {});
      await this.nodeRed.until(() => this.nodeRed.at('open').length === asked, 'the list');
      const open = this.nodeRed.at('open').at(-1)?.payload;
      return Array.isArray(open) && open.length === 0;
    };
    await eventually(isSettled, 'the end of all events');
  }
}

interface DeliveryReport {
  messageId: string;
  state: string;
  attempts: { status?: number; error?: string }[];
}

/** The sandbox as a program of its own: the sender, which knows only what the service knows and resends as it does. */
class SandboxProcess {
  /** Ids of all messages that were raised. */
  readonly raised: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  static async start(webhook: string, phrase: string): Promise<SandboxProcess> {
    const cli = path.join(ROOT, 'dist', 'sandbox', 'cli.js');
    const ports = ['--port', '0', '--rtsp-port', '0'];
    const sender = ['--webhook', webhook, '--secret', phrase, '--events-per-minute', '0', '--sites', '1'];
    const child = spawn(process.execPath, [cli, ...ports, ...sender], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(readline.createInterface(child.stdout), 'line')) as [string];
    return new SandboxProcess(child, (JSON.parse(line) as { url: string }).url);
  }

  /** Raises an alarm that does not end while a test lasts. */
  async raise(): Promise<void> {
    const { messageId } = (await this.#ask('alarms', { seconds: 86_400 })) as { messageId: string };
    this.raised.push(messageId);
  }

  /** The newest 2,000 messages. */
  async deliveries(): Promise<DeliveryReport[]> {
    return (await this.#ask('deliveries')) as DeliveryReport[];
  }

  /** Lets the time of the resends come, until every message is acknowledged. */
  async resendAll(): Promise<void> {
    let states = new Set<string>();
    const isOver = async (): Promise<boolean> => {
      states = new Set((await this.deliveries()).map(({ state }) => state));
      if (states.has('pending')) await this.#ask('clock', { advance: 10 });
      return !states.has('pending');
    };
    await eventually(isOver, 'the end of all resends');
    assert.deepEqual([...states], ['delivered']);
  }

  async stop(): Promise<void> {
    await endProcess(this.child);
  }

  async #ask(call: string, body?: object): Promise<unknown> {
    const url = `${this.url}/sandbox/${call}`;
    const response = await (body === undefined ? fetch(url) : post(url, body));
    assert.ok(response.ok, `${call} answered ${response.status}`);
    return response.json();
  }
}
