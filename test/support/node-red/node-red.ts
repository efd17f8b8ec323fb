import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { endProcess } from '../network/servers';
import { cannotRun } from '../suite/programs';
import { eventually, PATIENCE } from '../time/patience';
import { post } from '../webhook/alarm-message';

export const ROOT = path.join(__dirname, '..', '..', '..');
/** Packages of others that are installed for the example flows. */
const PALETTE = path.join(ROOT, 'test', 'palette', 'node_modules');

export function typesOfPackage(): string[] {
  const text = fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8');
  const { 'node-red': nodeRed } = JSON.parse(text) as { 'node-red': { nodes: object } };
  return Object.keys(nodeRed.nodes);
}

/** The Node-RED versions that the package supports, as installed for the tests. */
export const VERSIONS = { '4.1': 'node-red-4', '5': 'node-red' } as const;
export type NodeRedVersion = keyof typeof VERSIONS;

export interface FlowNode {
  id: string;
  type: string;
  [property: string]: unknown;
}

interface Seen {
  probe: string;
  msg: Record<string, unknown>;
}

export interface StartOptions {
  version?: NodeRedVersion;
  /** Not the kept one, of which modules know what was before: for tests of what is told once, or of the process itself. */
  fresh?: boolean;
  /** JavaScript of further settings, such as `httpNodeRoot: '/api',`. */
  settings?: string;
  env?: Record<string, string>;
  userDir?: string;
  node?: string;
  port?: number;
  /** The flow file to start with; others are deployed later. */
  flows?: readonly FlowNode[];
  /** Embedded in a host application, instead of the red.js of Node-RED. */
  embedded?: boolean;
  /** The flows do not start: in safe mode, or its flow file names a type that is missing. */
  flowsWait?: boolean;
  /** A built checkout of the package in the place of this one. */
  packageRoot?: string;
  /** A palette without this package. */
  withoutPackage?: boolean;
  /** Packages of others in its palette, of those in test/palette. */
  palette?: readonly string[];
  /** A module of JavaScript with types of nodes of the test. */
  nodes?: string;
}

/** A process of Node-RED, and what has come from it. */
class Running {
  readonly seen: Seen[] = [];
  log = '';
  readonly changes = new EventEmitter().setMaxListeners(100);

  constructor(
    readonly userDir: string,
    readonly port: number,
    readonly child: ChildProcess,
    /** Where it may be kept. */
    readonly keptAs: NodeRedVersion | undefined,
  ) {
    for (const output of [child.stdout, child.stderr])
      output?.on('data', (piece: Buffer) => {
        this.log += piece.toString();
        this.changes.emit('change');
      });
    child.on('message', (message: unknown) => {
      if (message === null || typeof message !== 'object' || !('probe' in message)) return;
      this.seen.push(message as Seen);
      this.changes.emit('change');
    });
    child.on('exit', () => this.changes.emit('change'));
  }
}

/**
 * The real red.js in a process of its own, with this package in its user directory. A start costs seconds of CPU time: one of
 * each version that nothing makes special is kept, once it is given back, for the next test of this process.
 */
export class NodeRed {
  static readonly #kept = new Map<NodeRedVersion, Running>();
  #process: Running | undefined;
  #options: StartOptions = {};

  private constructor(running?: Running) {
    this.#process = running;
  }

  static async start(options: StartOptions = {}): Promise<NodeRed> {
    const nodeRed = new NodeRed();
    await nodeRed.#begin(options);
    return nodeRed;
  }

  /**
   * One for the tests of a group, from the first to the last.
   * @param options may be made when it starts
   * @param flow is deployed then
   */
  static ofGroup(
    options: StartOptions | (() => StartOptions | Promise<StartOptions>) = {},
    flow?: () => readonly FlowNode[],
  ): NodeRed {
    const nodeRed = new NodeRed();
    before(async () => {
      await nodeRed.#begin(typeof options === 'function' ? await options() : options);
      if (flow !== undefined) await nodeRed.deploy(flow());
    });
    after(() => nodeRed.stopAndRemove());
    return nodeRed;
  }

  /** One for a piece of work, and no longer. */
  static async with(options: StartOptions, work: (nodeRed: NodeRed) => Promise<unknown>): Promise<void> {
    const nodeRed = await this.start(options);
    try {
      await work(nodeRed);
    } finally {
      await nodeRed.stopAndRemove();
    }
  }

  /** Nothing else keeps this process alive: it ends, and they with it. */
  static async stopKept(): Promise<void> {
    const all = [...this.#kept.values()].map((kept) => new NodeRed(kept));
    this.#kept.clear();
    for (const kept of all) kept.#holdProcess(true);
    await Promise.all(all.map((kept) => kept.#stopAndRemove()));
  }

  /** This process ends in this very moment. */
  static killKept(): void {
    for (const { child, userDir } of this.#kept.values()) {
      child.kill('SIGKILL');
      fs.rmSync(userDir, { recursive: true, force: true, maxRetries: 10 });
    }
  }

  /** Ends it, and starts it again with what it has kept. @param options others than those of its start */
  async restart(signal: NodeJS.Signals = 'SIGTERM', options: StartOptions = {}): Promise<void> {
    const { userDir, port } = this;
    const { flows: _deployed, flowsWait: _waited, ...former } = this.#options;
    await this.stop(signal);
    await this.#begin({ ...former, userDir, port, ...options });
  }

  async #begin(options: StartOptions): Promise<void> {
    this.#options = options;
    const keptAs = isPlain(options) ? (options.version ?? '5') : undefined;
    this.#process = keptAs === undefined ? undefined : NodeRed.#kept.get(keptAs);
    if (keptAs !== undefined) NodeRed.#kept.delete(keptAs);
    if (!this.isRunning) return this.#beginFresh(options, keptAs);
    this.#holdProcess(true);
    try {
      // Of the variables of tests it has these alone.
      const { env = {} } = options;
      await this.#oneMore(/The environment was set/g, () => this.#running.child.send({ env }));
      // What was told once in some seconds may be told again.
      await this.advance(60);
      // What was still on its way is there now.
      this.#forget();
    } catch {
      await this.stop('SIGKILL');
      await this.#beginFresh(options, keptAs);
    }
  }

  async #beginFresh(options: StartOptions, keptAs: NodeRedVersion | undefined): Promise<void> {
    const userDir = options.userDir ?? fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-node-red-'));
    const port = options.port ?? (await freePort());
    const modules = path.join(userDir, 'node_modules');
    const own = path.join(modules, '@rvm', 'node-red-remote-monitoring');
    const put = (name: string, text: string): void => fs.writeFileSync(path.join(userDir, name), text);
    if (options.withoutPackage !== true && !fs.existsSync(own)) {
      linkPackage(options.packageRoot ?? ROOT, own);
      put('package.json', '{"name":"test","private":true}');
    }
    for (const name of options.palette ?? []) linkPackage(path.join(PALETTE, name), path.join(modules, name));
    put('settings.js', settingsFile(port, keptAs === undefined ? (options.settings ?? '') : MOVABLE_CLOCK));
    if (options.flows !== undefined) put('flows.json', JSON.stringify(options.flows));
    if (options.nodes !== undefined) {
      fs.mkdirSync(path.join(userDir, 'nodes'), { recursive: true });
      put('nodes/of-test.js', options.nodes);
      put('nodes/of-test.html', '');
    }

    const red = options.embedded
      ? path.join(__dirname, 'embedded-host.js')
      : path.join(ROOT, 'node_modules', VERSIONS[options.version ?? '5'], 'red.js');
    const child = fork(red, ['--userDir', userDir], {
      // A flow that writes to a relative path leaves nothing in the checkout.
      cwd: userDir,
      env: { ...process.env, ...coverageOf(options), ...NO_PROXY, ...options.env },
      execPath: options.node ?? process.execPath,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#process = new Running(userDir, port, child, keptAs);
    const started = options.flowsWait
      ? /Waiting for missing types|Flows stopped in safe mode/
      : /Started flows/;
    const runs = (): boolean => started.test(this.log) && /Server now running/.test(this.log);
    try {
      await this.until(runs, 'its start');
    } catch (error) {
      // Nobody else has a hold on it.
      await this.stop('SIGKILL');
      throw error;
    }
  }

  get #running(): Running {
    return this.#process ?? assert.fail('Node-RED was not started');
  }

  get userDir(): string {
    return this.#running.userDir;
  }

  get port(): number {
    return this.#running.port;
  }

  /** What probes have told, oldest first. */
  get seen(): readonly Seen[] {
    return this.#running.seen;
  }

  get log(): string {
    return this.#running.log;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get isRunning(): boolean {
    const { child } = this.#process ?? {};
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get pid(): number {
    return this.#running.child.pid ?? 0;
  }

  async deploy(
    flows: readonly FlowNode[],
    how: 'full' | 'nodes' | 'flows' = 'full',
    root = '',
    token = '',
  ): Promise<void> {
    const login: Record<string, string> = token === '' ? {} : { Authorization: `Bearer ${token}` };
    await this.#oneMore(/Started (modified )?(nodes|flows)/g, async () => {
      const headers = { 'Node-RED-Deployment-Type': how, ...login };
      const response = await post(`${this.url}${root}/flows`, flows, undefined, headers);
      assert.ok(response.ok, `deploy answered ${response.status}: ${await response.text()}`);
    });
  }

  /** Moves the clock that never jumps, in a Node-RED without options, or with the setting MOVABLE_CLOCK. */
  async advance(seconds: number): Promise<void> {
    await this.#oneMore(/The clock was moved/g, () => this.#running.child.send({ advance: seconds * 1000 }));
  }

  /** Waits for one more such line of the log than before some work. */
  async #oneMore(line: RegExp, work: () => unknown): Promise<void> {
    const count = (): number => this.log.match(line)?.length ?? 0;
    const before = count();
    await work();
    await this.until(() => count() > before, `${line} in the log`);
  }

  /** Messages that a probe has seen so far, or of those after the first so many of all. */
  at(probe: string, from = 0): Record<string, unknown>[] {
    return this.seen
      .slice(from)
      .filter((entry) => entry.probe === probe)
      .map((entry) => entry.msg);
  }

  /** The first message at a probe for which the condition holds, waiting for it if need be. */
  async message(
    probe: string,
    condition: (msg: Record<string, unknown>) => boolean = () => true,
    seconds = PATIENCE / 1000,
  ): Promise<Record<string, unknown>> {
    await this.until(() => this.at(probe).some(condition), `a message at "${probe}"`, seconds);
    return this.at(probe).find(condition) ?? assert.fail();
  }

  /** The first message that comes to a probe from the begin of some work on. */
  async next(probe: string, work: () => unknown = () => undefined): Promise<Record<string, unknown>> {
    const from = this.seen.length;
    await work();
    await this.until(() => this.at(probe, from).length > 0, `one more message at "${probe}"`);
    return this.at(probe, from)[0] ?? assert.fail();
  }

  /** Texts of all statuses that a node has shown, oldest first. */
  statuses(nodeId: string, from = 0): string[] {
    return this.at('status', from)
      .filter((msg) => (msg.status as { source?: { id?: string } }).source?.id === nodeId)
      .map((msg) => (msg.status as { text?: string }).text ?? '');
  }

  /** Waits for a line of the log, which comes by another way than statuses and messages. */
  async logged(line: RegExp, from = 0): Promise<void> {
    await this.until(() => line.test(this.log.slice(from)), `${line} in the log`);
  }

  /**
   * Waits for a condition over log and messages; looked at again after each change.
   * @param instead tells of what has come for good in the place of it, so that nobody waits in vain
   */
  async until(
    condition: () => boolean,
    what: string,
    seconds = PATIENCE / 1000,
    instead: () => string | undefined = () => undefined,
  ): Promise<void> {
    const deadline = AbortSignal.timeout(seconds * 1000);
    while (!condition()) {
      const other = instead();
      if (other !== undefined) assert.fail(`${what} can come no more, but ${other} did`);
      const end = (): string => `the log ends with:\n${this.log.slice(-3000)}`;
      if (!this.isRunning) assert.fail(`Node-RED has ended while waiting for ${what}; ${end()}`);
      try {
        await once(this.#running.changes, 'change', { signal: deadline });
      } catch {
        assert.fail(`waited ${seconds} s in vain for ${what}; ${end()}`);
      }
    }
  }

  async ended(seconds = PATIENCE / 1000): Promise<void> {
    if (!this.isRunning) return;
    try {
      await once(this.#running.child, 'exit', { signal: AbortSignal.timeout(seconds * 1000) });
    } catch {
      assert.fail(`Node-RED has not ended within ${seconds} s:\n${this.log.slice(-3000)}`);
    }
  }

  /** Ends the process as a service manager does, and waits for it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await endProcess(this.#process?.child, signal);
  }

  /** Gives it back: it is kept for the next test, or stopped where it cannot be. */
  async stopAndRemove(): Promise<void> {
    if (this.#process === undefined) return;
    if (!(await this.#keep())) await this.#stopAndRemove();
  }

  async #stopAndRemove(): Promise<void> {
    await this.stop();
    fs.rmSync(this.userDir, { recursive: true, force: true, maxRetries: 10 });
  }

  /** @returns whether it is kept now */
  async #keep(): Promise<boolean> {
    const { keptAs } = this.#running;
    if (keptAs === undefined || !this.isRunning || NodeRed.#kept.has(keptAs)) return false;
    try {
      await this.#empty();
    } catch {
      return false;
    }
    if (NodeRed.#kept.has(keptAs)) return false;
    NodeRed.#kept.set(keptAs, this.#running);
    this.#holdProcess(false);
    return true;
  }

  async #empty(): Promise<void> {
    await this.deploy([]);
    // An inbox is let go of a moment later, and one that is open does not go with its folder.
    await eventually(() => !this.#hasInbox(), 'the end of its inboxes');
    const { memory } = (await (await fetch(`${this.url}/context/global`)).json()) as { memory: object };
    for (const name of Object.keys(memory).filter((each) => each !== 'probe'))
      await fetch(`${this.url}/context/global/${name}`, { method: 'DELETE' });
  }

  #hasInbox(): boolean {
    const open = `/proc/${this.pid}/fd`;
    const log = path.join(this.userDir, 'remote-monitoring', 'inbox.sqlite-wal');
    if (!fs.existsSync(open)) return fs.existsSync(log);
    return fs.readdirSync(open).some((name) => {
      try {
        return fs.readlinkSync(path.join(open, name)).includes('inbox.sqlite');
      } catch {
        // It has just been closed.
        return false;
      }
    });
  }

  /** What came, or was written, since the last test, too. */
  #forget(): void {
    this.#running.seen.length = 0;
    this.#running.log = '';
    const stays = /^(\.config\..*|lib|node_modules|package\.json|settings\.js)$/;
    for (const name of fs.readdirSync(this.userDir).filter((each) => !stays.test(each)))
      fs.rmSync(path.join(this.userDir, name), { recursive: true, force: true, maxRetries: 10 });
  }

  /** Whether this process lives on as long as that of Node-RED does. */
  #holdProcess(holds: boolean): void {
    const { child } = this.#running;
    const { channel, stdout, stderr } = child;
    for (const each of [child, channel, stdout, stderr] as (net.Socket | null | undefined)[])
      if (holds) each?.ref();
      else each?.unref();
  }
}

process.on('beforeExit', () => void NodeRed.stopKept()).on('exit', () => NodeRed.killKept());

/** Nothing but what may change sets it apart: variables of tests, and a clock that is in each that is kept. */
function isPlain(options: StartOptions): boolean {
  const { version: _version, settings = MOVABLE_CLOCK, env = {}, ...special } = options;
  const isOfTests = Object.keys(env).every((name) => name.startsWith('RVM_TEST_'));
  return settings === MOVABLE_CLOCK && isOfTests && Object.keys(special).length === 0;
}

/** Counting what runs costs time, and shows the same in each version. */
function coverageOf({ version = '5' }: StartOptions): Record<string, undefined> {
  return version === '5' ? {} : { NODE_V8_COVERAGE: undefined };
}

function linkPackage(from: string, to: string): void {
  if (fs.existsSync(to)) return;
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.symlinkSync(from, to, 'junction');
}

/** Services of tests are on this machine, whatever proxy it uses for others. */
const NO_PROXY = { http_proxy: '', https_proxy: '', HTTP_PROXY: '', HTTPS_PROXY: '' };

/**
 * JavaScript of a setting that lets a test move `performance.now`, and timers of a second or more with it. Each such setting adds
 * to `clocks`.
 */
export const MOVABLE_CLOCK = `movableClock: (() => {
    const now = performance.now.bind(performance);
    const [begin, end] = [setTimeout, clearTimeout];
    const going = new Map();
    let ahead = 0;
    performance.now = () => now() + ahead;
    globalThis.setTimeout = (act, ms, ...args) => {
      if (!(ms >= 1000)) return begin(act, ms, ...args);
      const fire = () => {
        globalThis.clearTimeout(timer);
        act(...args);
      };
      const timer = begin(fire, ms);
      going.set(timer, { left: ms, fire });
      return timer;
    };
    globalThis.clearTimeout = (timer) => {
      going.delete(timer);
      end(timer);
    };
    clocks.push((advance) => {
      ahead += advance;
      for (const each of going.values()) {
        each.left -= advance;
        if (each.left <= 0) each.fire();
      }
    });
  })(),`;

/** A node on the tab of a test flow. @param targets of each output */
export function flowNode(
  id: string,
  type: string,
  targets: readonly (readonly string[])[],
  properties: Record<string, unknown> = {},
): FlowNode {
  return { id, type, z: 'tab', x: 0, y: 0, wires: targets, ...properties };
}

export function functionNode(id: string, func: string, ...targets: string[]): FlowNode {
  return flowNode(id, 'function', [targets], { name: id, func, outputs: 1, libs: [] });
}

/** A function node that reports what it gets to the test. */
export function probe(id: string, z = 'tab'): FlowNode {
  return { ...functionNode(id, `global.get('probe')('${id}', msg);\nreturn null;`), z };
}

export const probes = (...ids: string[]): FlowNode[] => ids.map((id) => probe(id));

/** What every test flow has: a tab, and probes for all statuses and all caught errors. */
export function watched(...nodes: FlowNode[]): FlowNode[] {
  return [
    { id: 'tab', type: 'tab', label: 'test' },
    flowNode('watch-status', 'status', [['status']], { scope: null }),
    probe('status'),
    flowNode('watch-errors', 'catch', [['caught']], { scope: null, uncaught: false }),
    probe('caught'),
    ...nodes.map((node) => (node.z === undefined && node.wires !== undefined ? { ...node, z: 'tab' } : node)),
  ];
}

/** An entrance: a message posted to `/enter/<id>` enters the flow as `msg`. */
export function entrance(id: string, ...targets: string[]): FlowNode[] {
  const func = `const { req, res, payload } = msg; res._res.sendStatus(200); return payload;`;
  return [
    flowNode(`${id}-http`, 'http in', [[id]], { name: '', url: `/enter/${id}`, method: 'post' }),
    functionNode(id, func, ...targets),
  ];
}

export async function inject(nodeRed: NodeRed, id: string, msg: Record<string, unknown>): Promise<void> {
  assert.equal((await post(`${nodeRed.url}/enter/${id}`, msg)).status, 200);
}

/** Given away by this process: whoever got one may not listen on it yet. */
const givenPorts = new Set<number>();

/** A port that nothing listens on, of those that no system gives to a server of another test that asks for any. */
export async function freePort(): Promise<number> {
  const port = 10_000 + randomInt(20_000);
  if (givenPorts.has(port)) return freePort();
  givenPorts.add(port);
  const server = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
  }
  server.close();
  await once(server, 'close');
  return port;
}

function settingsFile(port: number, further: string): string {
  return `// What the settings below move; said once for all of them.
const clocks = [];
process.on('message', ({ env, advance }) => {
  if (advance !== undefined && clocks.length > 0) {
    for (const move of clocks) move(advance);
    console.log('The clock was moved.');
  }
  if (env === undefined) return;
  for (const name of Object.keys(process.env)) if (name.startsWith('RVM_TEST_')) delete process.env[name];
  Object.assign(process.env, env);
  console.log('The environment was set.');
});
module.exports = {
  uiPort: ${port},
  uiHost: '127.0.0.1',
  flowFile: 'flows.json',
  credentialSecret: false,
  // Loads without the editor of code that no dialog of the package has.
  editorTheme: { tours: false, codeEditor: { lib: 'ace' } },
  telemetry: { enabled: false, updateNotification: false },
  // Lines of the log are waited for, whatever the language of this machine.
  lang: 'en-US',
  logging: { console: { level: 'trace', metrics: false, audit: false } },
  functionGlobalContext: {
    probe(name, msg) {
      const { req, res, ...plain } = msg;
      process.send({ probe: name, msg: JSON.parse(JSON.stringify(plain)) });
    },
  },
  ${further}
};
`;
}

/** Those that this process has fetched: the newest of last week is not that of today. */
const fetched = new Set<string>();

/**
 * A Node binary of another version, such as `22.19.0`, or the newest of `22` or of all (`latest`). The test is skipped where it
 * cannot be had.
 */
export function otherNode(test: Mocha.Context, version: string): string {
  const folder = path.join(ROOT, '.node', version);
  const isNewest = version.split('.').length < 3;
  const isThere = fs.existsSync(folder) && (!isNewest || fetched.has(version));
  const canBeHad = isThere || fetchInto(folder, version, isNewest);
  return (canBeHad && fetchNode(version, folder)) || cannotRun(test, `Node.js ${version} cannot be fetched`);
}

const MOST_TRIES = 3;

/** Test files that run at the same time must not install into one folder. @returns whether it could be had */
function fetchInto(folder: string, version: string, isNewest: boolean): boolean {
  const own = `${folder}-${process.pid}`;
  let binary: string | undefined;
  // A registry may stumble.
  for (let tries = 0; tries < MOST_TRIES && binary === undefined; tries += 1)
    binary = fetchNode(version, own);
  if (binary !== undefined) {
    if (isNewest) fs.rmSync(folder, { recursive: true, force: true });
    try {
      fs.renameSync(own, folder);
    } catch {
      // Another was first.
    }
    fetched.add(version);
  }
  fs.rmSync(own, { recursive: true, force: true });
  return binary !== undefined;
}

function fetchNode(version: string, folder: string): string | undefined {
  const tools = require('../../../scripts/fetch-node.js') as { fetchNode: typeof fetchNode };
  return tools.fetchNode(version, folder);
}

/** A property of settings.js that a test changes while Node-RED runs; nodes read it when they are deployed. */
export class ChangingSetting {
  readonly #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-setting-'));
  readonly #file = path.join(this.#folder, 'value.js');

  constructor(private readonly name: string) {
    this.set('undefined');
  }

  /** For the settings that Node-RED is started with. */
  get text(): string {
    const read = `require('fs').readFileSync(${JSON.stringify(this.#file)}, 'utf8')`;
    return `get ${this.name}() { return (0, eval)('(' + ${read} + ')'); },`;
  }

  /** @param value JavaScript */
  set(value: string): void {
    fs.writeFileSync(this.#file, value);
  }

  remove(): void {
    fs.rmSync(this.#folder, { recursive: true });
  }
}
