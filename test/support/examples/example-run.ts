import assert from 'node:assert/strict';
import { inboxesOpen } from '../node-red/inboxes-open';
import {
  entrance,
  type FlowNode,
  flowNode,
  inject,
  NodeRed,
  probe,
  type StartOptions,
} from '../node-red/node-red';
import { setFault, type SandboxState, stateOf } from '../node-red/station-flow';
import { eventually } from '../time/patience';
import { post } from '../webhook/alarm-message';
import { example, packagesFor, saidOfNodes } from './examples';

/** Nodes of the example are called by their ids without `rvm-example-` and its digits. */
export interface RunOptions extends StartOptions {
  /** Nodes, and the probe that gets all that goes into each. */
  beside?: Record<string, string>;
  /** Nodes, and the probe that gets all that leaves the first output of each. */
  behind?: Record<string, string>;
  /** Properties that an installer would change, or that a test cannot wait for, by node. */
  changes?: Record<string, Record<string, unknown>>;
  /** Values of constants at the head of function nodes, as JavaScript, by node. */
  constants?: Record<string, Record<string, string>>;
  /** Entrances by which a test sends what a button or a browser would, and the node that each leads to. */
  doors?: Record<string, string>;
  /** Further nodes on the tab of the example, or others in the place of some. */
  edit?: (nodes: FlowNode[]) => FlowNode[];
  /** Alarms of the sandbox stay in the building, as in an example that nobody has touched. Otherwise a trial lets them out. */
  closed?: boolean;
}

/** One example in a Node-RED of its own, with its sandbox, whose alarms come only when a test raises them. */
export class ExampleRun {
  nodeRed!: NodeRed;
  flow: readonly FlowNode[] = [];
  #startOptions: StartOptions = {};
  #isClosed = false;

  /** @param digits those that the name of the example begins with */
  private constructor(private readonly digits: string) {}

  static async start(digits: string, options: RunOptions = {}): Promise<ExampleRun> {
    const run = new ExampleRun(digits);
    await run.#start(options);
    return run;
  }

  /**
   * From the first test of a group to the last.
   * @param options may be made when it starts
   */
  static ofGroup(digits: string, options: RunOptions | (() => RunOptions | Promise<RunOptions>)): ExampleRun {
    const run = new ExampleRun(digits);
    before(async () => run.#start(typeof options === 'function' ? await options() : options));
    after(() => run.stop());
    return run;
  }

  async #start(options: RunOptions): Promise<void> {
    const { beside, behind, changes, constants, doors, edit, closed = false, ...further } = options;
    this.flow = changedFlow(this.digits, { beside, behind, changes, constants, doors, edit });
    const palette = packagesFor(this.digits);
    this.#startOptions = { ...(palette.length > 0 && { palette }), ...further };
    this.#isClosed = closed;
    this.nodeRed = await NodeRed.start(this.#startOptions);
    try {
      await this.deploy();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Deploys in full and waits until alarms can come. */
  async deploy(): Promise<void> {
    const seen = this.nodeRed.seen.length;
    await this.nodeRed.deploy(this.flow);
    await this.#ready(seen);
  }

  /** Ends Node-RED and starts it again, with what it has kept. */
  async restart(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { userDir, port } = this.nodeRed;
    await this.nodeRed.stop(signal);
    this.nodeRed = await NodeRed.start({ ...this.#startOptions, userDir, port });
    await this.#ready(0);
  }

  get sandbox(): SandboxOfExample {
    return new SandboxOfExample(this.sandboxUrl);
  }

  raise(alarm: AlarmToRaise = {}): Promise<RaisedAlarm> {
    return this.sandbox.raise(alarm);
  }

  /** What a probe has seen of a message, or of an alarm. */
  at(probe: string, { messageId, alarmId }: Partial<RaisedAlarm>): Message[] {
    return this.nodeRed
      .at(probe)
      .filter((msg) =>
        messageId === undefined ? eventOf(msg).alarmId === alarmId : webhookOf(msg).messageId === messageId,
      );
  }

  /** The first of some probes that sees an alarm, with the reason for which it is held back. */
  async wayOf(alarm: AlarmToRaise, probes: readonly string[]): Promise<{ way: string; msg: Message }> {
    const { messageId } = await this.raise(alarm);
    const isIt = ({ probe: name, msg }: NodeRed['seen'][number]): boolean =>
      probes.includes(name) && webhookOf(msg).messageId === messageId;
    await this.nodeRed.until(() => this.nodeRed.seen.some(isIt), 'its way');
    const { probe: name, msg } = this.nodeRed.seen.find(isIt) ?? assert.fail();
    return { way: [name, msg.reason].filter(Boolean).join(': '), msg };
  }

  /** Waits for the message that tells of the end of an alarm. */
  end(probe: string, { alarmId }: RaisedAlarm): Promise<Message> {
    const isIt = (msg: Message): boolean =>
      eventOf(msg).alarmId === alarmId && webhookOf(msg).phase === 'end';
    return this.nodeRed.message(probe, isIt);
  }

  /** Presses the button of an inject node. */
  press(name: string): Promise<void> {
    return press(this.nodeRed, this.#idOf(name));
  }

  /** Sends what a browser or a button would. */
  enter(door: string, msg: Record<string, unknown>): Promise<void> {
    return inject(this.nodeRed, door, msg);
  }

  /** The last status of a node since so many messages of probes. */
  status(name: string, from = 0): string {
    return this.nodeRed.statuses(this.#idOf(name), from).at(-1) ?? '';
  }

  get sandboxUrl(): string {
    const addresses = [...this.nodeRed.log.matchAll(/service on (http:\/\/127\.0\.0\.1:\d+)/g)];
    return addresses.at(-1)?.[1] ?? assert.fail('no sandbox has started');
  }

  async stop(): Promise<void> {
    await this.nodeRed?.stopAndRemove();
  }

  #idOf(name: string): string {
    return `rvm-example-${this.digits}-${name}`;
  }

  async #ready(seen: number): Promise<void> {
    const webhook = this.flow.find(({ type }) => type === 'rvm-webhook-in');
    if (webhook === undefined) return;
    const isReady = (): boolean => /sandbox/.test(this.nodeRed.statuses(webhook.id, seen).at(-1) ?? '');
    await this.nodeRed.until(isReady, 'the sandbox');
    await inboxesOpen(this.nodeRed);
    if (!this.#isClosed) await letSandboxOut(this.nodeRed, this.flow);
  }
}

/** The example with what a test changes in it, and with a probe for the statuses of its nodes. */
function changedFlow(
  digits: string,
  { beside, behind, changes = {}, constants = {}, doors = {}, edit = (nodes) => nodes }: RunOptions,
): FlowNode[] {
  const own = example(digits, beside, behind);
  const constantsOf = saidOfNodes(own, constants);
  const functions = own.map((node) => withConstants(node, constantsOf(node.id) ?? {}));
  const nodes = edit(withChanges(functions, changes));
  const watch = flowNode('watch-status', 'status', [['status']], { scope: null });
  const entrances = Object.entries(doors).flatMap(([name, to]) =>
    entrance(name, `rvm-example-${digits}-${to}`),
  );
  const tab = nodes.find(({ type }) => type === 'tab')?.id ?? '';
  return [...nodes, watch, probe('status'), ...entrances].map((node) =>
    node.z === 'tab' ? { ...node, z: tab } : node,
  );
}

/** A function node with other values of constants. */
export function withConstants(node: FlowNode, constants: Record<string, string>): FlowNode {
  let func = String(node.func);
  for (const [name, value] of Object.entries(constants)) {
    const line = new RegExp(`const ${name} = .*?;`);
    assert.match(func, line, `${node.id} has the constant ${name}`);
    func = func.replace(line, () => `const ${name} = ${value};`);
  }
  return 'func' in node ? { ...node, func } : node;
}

type Message = Record<string, unknown>;

/** What webhook in tells of a message. */
export function webhookOf(msg: Message | undefined): Message {
  return partOf(msg, 'webhook');
}

export function eventOf(msg: Message | undefined): Message {
  return partOf(msg, 'event');
}

export function partOf(msg: Message | undefined, name: string): Message {
  return (msg?.[name] ?? {}) as Message;
}

/** What `POST /sandbox/alarms` takes. */
interface AlarmToRaise {
  camera?: string;
  eventClass?: 'security' | 'health';
  eventName?: string;
  /** It ends after that time. */
  seconds?: number;
}

interface RaisedAlarm {
  alarmId: string;
  messageId: string;
}

/**
 * Flow nodes with other properties, and a sandbox that raises no alarm by itself, nor by the button of a trial. Properties of the
 * tab, such as `env`, are changed the same way.
 */
export function withChanges(
  nodes: readonly FlowNode[],
  changes: Record<string, Record<string, unknown>>,
): FlowNode[] {
  const changesOf = saidOfNodes(nodes, changes);
  const standing = nodes.filter((node) => !isRaiser(node) || changesOf(node.id) !== undefined);
  return standing.map((node) => ({
    ...node,
    ...(node.type === 'rvm-cloud' && { sandboxEvents: 0 }),
    ...changesOf(node.id),
  }));
}

/** The node by which the button of a trial raises an alarm of the sandbox at once. */
export function isRaiser({ id }: FlowNode): boolean {
  return id.endsWith('-raise');
}

/** Environment variables of a flow, as the property `env` of its tab holds them. */
export function tabEnv(values: Record<string, number>): { env: object[] } {
  return {
    env: Object.entries(values).map(([name, value]) => ({ name, value: String(value), type: 'num' })),
  };
}

/** The sandbox inside of a Node-RED, once an endpoint is there for its alarms. */
export class SandboxOfExample {
  /** @param url of its service */
  constructor(readonly url: string) {}

  /** @param from where in the log to look for its address: a later deploy starts another */
  static async of(nodeRed: NodeRed, from = 0): Promise<SandboxOfExample> {
    const address = (): string | undefined =>
      /service on (http:\/\/127\.0\.0\.1:\d+)/.exec(nodeRed.log.slice(from))?.[1];
    await nodeRed.until(() => address() !== undefined, 'the address of the sandbox');
    const sandbox = new SandboxOfExample(address() ?? '');
    const hasEndpoint = ({ stations }: SandboxState): boolean =>
      stations.some(({ endpoints }) => endpoints > 0);
    await sandbox.until(hasEndpoint, 'an endpoint');
    await inboxesOpen(nodeRed);
    return sandbox;
  }

  state(): Promise<SandboxState> {
    return stateOf(this);
  }

  /** Waits until the sandbox says so. */
  async until(condition: (state: SandboxState) => boolean, what: string): Promise<void> {
    await eventually(async () => condition(await this.state()), what);
  }

  async raise(alarm: AlarmToRaise = {}): Promise<RaisedAlarm> {
    const response = await post(`${this.url}/sandbox/alarms`, { seconds: 3600, ...alarm });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as RaisedAlarm;
  }

  fault(fault: Record<string, unknown>): Promise<void> {
    return setFault(this, fault);
  }
}

/** The button that lets alarms of the sandbox out of the building, in examples that reach out. */
export function trialButton(flow: readonly FlowNode[]): string | undefined {
  return flow.find(({ type, name }) => type === 'inject' && String(name).startsWith('let sandbox alarms out'))
    ?.id;
}

/** Presses it, where the example has one. */
export async function letSandboxOut(nodeRed: NodeRed, flow: readonly FlowNode[]): Promise<void> {
  const button = trialButton(flow);
  if (button !== undefined) await press(nodeRed, button);
}

/** Presses the button of an inject node. */
async function press(nodeRed: NodeRed, id: string): Promise<void> {
  const response = await fetch(`${nodeRed.url}/inject/${id}`, { method: 'POST' });
  assert.ok(response.ok, `the button of ${id}: ${response.status}`);
}
