import assert from 'node:assert/strict';
import { inboxesOpen } from '../node-red/inboxes-open';
import { type FlowNode, NodeRed, probe, type StartOptions } from '../node-red/node-red';
import { eventually } from '../time/patience';
import { example, packagesFor } from './examples';

export interface RunOptions extends StartOptions {
  /** Ids of nodes, and the probe that gets all that goes into each. */
  beside?: Record<string, string>;
  /** Properties that an installer would change, or that a test cannot wait for, by id of the node. */
  changes?: Record<string, Record<string, unknown>>;
  /** Values of constants at the head of function nodes, as JavaScript, by id of the node. */
  constants?: Record<string, Record<string, string>>;
  /** Further nodes on the tab of the example, or others in the place of some. */
  edit?: (nodes: FlowNode[]) => FlowNode[];
  /** Alarms of the sandbox stay in the building, as in an example that nobody has touched. Otherwise a trial lets them out. */
  closed?: boolean;
}

/** One example in a Node-RED of its own, with its sandbox, whose alarms come only when a test raises them. */
export class ExampleRun {
  private constructor(
    public nodeRed: NodeRed,
    readonly flow: readonly FlowNode[],
    private readonly startOptions: StartOptions,
    private readonly isClosed: boolean,
  ) {}

  /** @param digits those that the name of the example begins with */
  static async start(digits: string, options: RunOptions = {}): Promise<ExampleRun> {
    const { beside, changes, constants, edit = (nodes) => nodes, closed = false, ...further } = options;
    const flow = edit(changedFlow(digits, { beside, changes, constants }));
    const palette = packagesFor(digits);
    const startOptions = { ...(palette.length > 0 && { palette }), ...further };
    const run = new ExampleRun(await NodeRed.start(startOptions), flow, startOptions, closed);
    try {
      await run.deploy();
    } catch (error) {
      await run.stop();
      throw error;
    }
    return run;
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
    this.nodeRed = await NodeRed.start({ ...this.startOptions, userDir, port });
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
  press(id: string): Promise<void> {
    return press(this.nodeRed, id);
  }

  get sandboxUrl(): string {
    const addresses = [...this.nodeRed.log.matchAll(/service on (http:\/\/127\.0\.0\.1:\d+)/g)];
    return addresses.at(-1)?.[1] ?? assert.fail('no sandbox has started');
  }

  stop(): Promise<void> {
    return this.nodeRed.stopAndRemove();
  }

  async #ready(seen: number): Promise<void> {
    const webhook = this.flow.find(({ type }) => type === 'rvm-webhook-in');
    if (webhook === undefined) return;
    const isReady = (): boolean => /sandbox/.test(this.nodeRed.statuses(webhook.id, seen).at(-1) ?? '');
    await this.nodeRed.until(isReady, 'the sandbox');
    await inboxesOpen(this.nodeRed);
    if (!this.isClosed) await letSandboxOut(this.nodeRed, this.flow);
  }
}

/** The example with what a test changes in it, and with a probe for the statuses of its nodes. */
function changedFlow(
  digits: string,
  { beside, changes = {}, constants = {} }: Pick<RunOptions, 'beside' | 'changes' | 'constants'>,
): FlowNode[] {
  const own = example(digits, beside);
  for (const id of Object.keys(constants))
    assert.ok(
      own.some((node) => node.id === id),
      `the example has no ${id}`,
    );
  const functions = own.map((node) => withConstants(node, constants[node.id] ?? {}));
  const nodes = withChanges(functions, changes);
  const z = nodes.find(({ type }) => type === 'tab')?.id ?? '';
  const watch = { id: 'watch-status', type: 'status', z, scope: null, x: 0, y: 0, wires: [['status']] };
  return [...nodes, watch, probe('status', z)];
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

/** The answer to `GET /sandbox/state`, as far as tests of examples look at it. */
interface SandboxState {
  cameras: { id: string; name: string; status: string; ptz: { position: string } | null }[];
  stations: { key: string; endpoints: number }[];
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
 * Flow nodes with other properties, by id, and a sandbox that raises no alarm by itself, nor by the button of a trial. Properties of
 * the tab, such as `env`, are changed the same way.
 */
export function withChanges(
  nodes: readonly FlowNode[],
  changes: Record<string, Record<string, unknown>>,
): FlowNode[] {
  const unknown = Object.keys(changes).filter((id) => !nodes.some((node) => node.id === id));
  assert.deepEqual(unknown, [], 'the example has these nodes');
  const standing = nodes.filter((node) => !isRaiser(node) || changes[node.id] !== undefined);
  return standing.map((node) => ({
    ...node,
    ...(node.type === 'rvm-cloud' && { sandboxEvents: 0 }),
    ...changes[node.id],
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

  async state(): Promise<SandboxState> {
    return (await (await fetch(`${this.url}/sandbox/state`)).json()) as SandboxState;
  }

  /** Waits until the sandbox says so. */
  async until(condition: (state: SandboxState) => boolean, what: string): Promise<void> {
    await eventually(async () => condition(await this.state()), what);
  }

  async raise(alarm: AlarmToRaise = {}): Promise<RaisedAlarm> {
    return (await this.#post('alarms', { seconds: 3600, ...alarm })) as RaisedAlarm;
  }

  async fault(fault: Record<string, unknown>): Promise<void> {
    await this.#post('faults', fault);
  }

  async #post(call: string, body: object): Promise<unknown> {
    const response = await fetch(`${this.url}/sandbox/${call}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.ok(response.ok, await response.clone().text());
    return response.json();
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
