import assert from 'node:assert/strict';
import { SandboxOfExample, withChanges, type AlarmToRaise, type RaisedAlarm } from './example-sandbox';
import { letSandboxOut, press } from './trial';
import { example, packagesFor } from './examples';
import { inboxesOpen } from '../node-red/inboxes-open';
import { NodeRed, probe, type FlowNode, type StartOptions } from '../node-red/node-red';

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

  raise(alarm: AlarmToRaise = {}): Promise<RaisedAlarm> {
    return new SandboxOfExample(this.sandboxUrl).raise(alarm);
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
