import assert from 'node:assert/strict';
import { type RtspFault, Sandbox, type SandboxOptions } from '../../../sandbox';
import { NODE_RED_VERSIONS } from '../suite/lanes';
import { needs, type Program } from '../suite/programs';
import { eventually } from '../time/patience';
import { post } from '../webhook/alarm-message';
import { cloud, station } from './flows';
import {
  entrance,
  type FlowNode,
  flowNode,
  functionNode,
  inject,
  NodeRed,
  type NodeRedVersion,
  probes,
  type StartOptions,
  watched,
} from './node-red';

export type Message = Record<string, unknown>;

/** What a node that fails puts into `msg.error`. */
export interface Failure {
  code: string;
  message: string;
  cause: Record<string, unknown>;
}

export interface SandboxCamera {
  id: string;
  remoteId: string;
  name: string;
  siteId: string;
  status: string;
  /** Null for a fixed camera. */
  ptz: { position: string; tour: number | null } | null;
}

/** Keeps what a message has in `flow` and `global` in the context of these names, and passes the rest on. */
const REMEMBER = `const { flow: ofFlow = {}, global: ofGlobal = {}, ...rest } = msg;
for (const [name, value] of Object.entries(ofFlow)) flow.set(name, value);
for (const [name, value] of Object.entries(ofGlobal)) global.set(name, value);
return rest;`;

/** Statuses that nothing but a deploy, or a restart, changes. */
const FINAL = /^status\.(decoderMissing|needsNode|wrongSetting)$| (is|are) not set$/;

/** The types that call the service. */
export const CALLERS = 'get-picture get-clip view list-devices get-device get-rtsp ptz snapshot request'
  .split(' ')
  .map((name) => `rvm-${name}`);

/** A node of the package that calls the service, with both outputs at probes. */
export function caller(type: string, properties: Message = {}): FlowNode {
  return flowNode('node', type, [['result'], ['failed']], { station: 'station', ...properties });
}

const isOfPackage = ({ type }: FlowNode): boolean => type.startsWith('rvm-');

/** A flow file of a `StationFlow` where only these nodes get the messages that go in. */
export function enteredBy(flows: readonly FlowNode[], ...ids: string[]): FlowNode[] {
  return flows.map((node) => (node.id === 'remember' ? { ...node, wires: [ids] } : node));
}

/** Gives the tab of a flow an environment variable. */
export function withVariable(flows: readonly FlowNode[], name: string, value: string): FlowNode[] {
  const env = [{ name, value, type: 'str' }];
  return flows.map((node) => (node.type === 'tab' ? { ...node, env } : node));
}

/** Real Node-RED and a sandbox as its service: messages go in at one end of a flow, and are seen where they come out. */
export class StationFlow {
  #sequence = 0;
  /** How many messages had been seen when the last deploy began. */
  #deployed = 0;

  nodeRed!: NodeRed;
  sandbox!: Sandbox;
  credentials!: { username: string; password: string; secret: string };
  online!: SandboxCamera;

  static async start(...how: Parameters<StationFlow['start']>): Promise<StationFlow> {
    const flow = new StationFlow();
    await flow.start(...how);
    return flow;
  }

  async start(
    version: NodeRedVersion,
    sandboxOptions: SandboxOptions = {},
    options: StartOptions = {},
  ): Promise<void> {
    this.sandbox = await Sandbox.start({ eventsPerMinute: 0, seed: 7, rtspPort: 0, ...sandboxOptions });
    this.credentials = this.sandbox.setStation('north', { scheme: 'http' });
    this.online = await this.camera(isOnline);
    try {
      this.nodeRed = await NodeRed.start({ version, ...options });
    } catch (error) {
      await this.sandbox.close();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.nodeRed?.stopAndRemove();
    await this.sandbox?.close();
  }

  /** Another sandbox with the same station and key, which may end and come again at its port. */
  async other(at?: string): Promise<Sandbox> {
    const { apiKey } = this.sandbox;
    const port = at === undefined ? {} : { port: Number(new URL(at).port) };
    const other = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0, apiKey, ...port });
    other.setStation('north', { scheme: 'http', ...this.credentials });
    return other;
  }

  /** A flow file around some nodes, all of which get the messages that go in; `wires` or others than `result` stay as they are. */
  flows(changes: { cloud?: Message; station?: Message }, ...nodes: FlowNode[]): FlowNode[] {
    const { sandbox, credentials } = this;
    return watched(
      cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey }, ...changes.cloud }),
      station({ credentials, ...changes.station }),
      ...entrance('in', 'remember'),
      functionNode('remember', REMEMBER, ...nodes.filter(isOfPackage).map(({ id }) => id)),
      ...nodes,
      ...probes('result', 'failed'),
    );
  }

  async deploy(...nodes: FlowNode[]): Promise<void> {
    await this.deployFlows(this.flows({}, ...nodes));
  }

  /** Deploys a whole flow file; of a deploy of changes, credentials are left out as the editor does where they are the same. */
  async deployFlows(flows: FlowNode[], how: 'full' | 'nodes' = 'full'): Promise<void> {
    this.#deployed = this.nodeRed.seen.length;
    const unchanged = ({ credentials: _same, ...node }: FlowNode): FlowNode => node;
    await this.nodeRed.deploy(how === 'full' ? flows : flows.map(unchanged), how);
  }

  /** Texts of the statuses that a node has shown since the last deploy began. */
  statuses(node = 'node'): string[] {
    return this.nodeRed.statuses(node, this.#deployed);
  }

  async ask(node: FlowNode, msg: Message = {}): Promise<Message> {
    await this.deploy(node);
    return this.through(msg);
  }

  /** Deploys a node that fails with a message. */
  async refusal(node: FlowNode, msg: Message = {}): Promise<Failure> {
    await this.deploy(node);
    return this.failure(msg);
  }

  /** Sends a message through and gives what comes out: at a probe, or at the Catch node. */
  async through(msg: Message, outcome: 'result' | 'failed' | 'caught' = 'result'): Promise<Message> {
    const mark = await this.send(msg);
    const first = () => this.nodeRed.seen.find((seen) => seen.probe !== 'status' && seen.msg.mark === mark);
    await this.nodeRed.until(() => first() !== undefined, 'an outcome');
    const { probe: at, msg: seen } = first() ?? assert.fail();
    assert.equal(at, outcome, JSON.stringify(seen.error));
    return seen;
  }

  /** Sends a message in, and gives the mark by which it is known when it comes out. */
  async send(msg: Message): Promise<number> {
    // Several may be on their way in at once.
    const mark = ++this.#sequence;
    await inject(this.nodeRed, 'in', { ...msg, mark });
    return mark;
  }

  async failure(msg: Message): Promise<Failure> {
    return (await this.through(msg, 'failed')).error as Failure;
  }

  async code(msg: Message): Promise<string> {
    return (await this.failure(msg)).code;
  }

  async shows(text: string | RegExp, node = 'node'): Promise<void> {
    const matches = (status?: string): boolean =>
      status !== undefined && (typeof text === 'string' ? status === text : text.test(status));
    const shown = (): string | undefined => this.statuses(node).at(-1);
    const final = (): string | undefined => (FINAL.test(shown() ?? '') ? `"${shown()}"` : undefined);
    await this.nodeRed.until(() => matches(shown()), `the status ${text}`, undefined, final);
  }

  state(): Promise<SandboxState> {
    return stateOf(this.sandbox);
  }

  async camera(condition: (camera: SandboxCamera) => boolean): Promise<SandboxCamera> {
    return seenCameras(await this.state()).find(condition) ?? assert.fail('the sandbox has no such camera');
  }

  fault(fault: Message): Promise<void> {
    return setFault(this.sandbox, fault);
  }

  async endFaults(): Promise<void> {
    await fetch(`${this.sandbox.url}/sandbox/faults`, { method: 'DELETE' });
  }
}

/** Where a sandbox is. */
type SandboxPlace = Pick<Sandbox, 'url'>;

export async function stateOf({ url }: SandboxPlace): Promise<SandboxState> {
  return (await fetch(`${url}/sandbox/state`)).json() as Promise<SandboxState>;
}

/** The cameras of the sites that the Agent User may see. */
export function seenCameras({ cameras, sites }: SandboxState): SandboxCamera[] {
  const seen = new Set(sites.filter(({ state }) => state === 'accepted').map(({ id }) => id));
  return cameras.filter(({ siteId }) => seen.has(siteId));
}

/** Lets the service misbehave. */
export async function setFault({ url }: SandboxPlace, fault: Message): Promise<void> {
  const response = await post(`${url}/sandbox/faults`, fault);
  assert.ok(response.ok, await response.text());
}

export const isOnline = ({ status }: SandboxCamera): boolean => status === 'online';
export const isFixed = (camera: SandboxCamera): boolean => isOnline(camera) && camera.ptz === null;
export const canMove = (camera: SandboxCamera): boolean => isOnline(camera) && camera.ptz !== null;

/** The sandbox's video shows in its second 0 to 59 how far a time is from this one, in epoch seconds. */
const BAR_BEGINS = 1_760_000_000;

/** A time long enough ago that all of its recording is there: on a whole second, an hour before now. */
export const LONG_AGO = Math.floor(Date.now() / 1000) * 1000 - 3_600_000;

/** The second that the bar of the sandbox's video shows at a time, in epoch milliseconds. */
export function barAt(time: number): number {
  return Math.floor(time / 1000 - BAR_BEGINS) % 60;
}

export interface ClipFacts {
  cameraId: string;
  from: string;
  to: string;
  seconds: number;
  bytes: number;
  sha256: string;
  codecs: string;
  width: number;
  height: number;
  frames: number;
  partial: boolean;
  reason?: string;
}

export interface SandboxState {
  cameras: SandboxCamera[];
  sites: { id: string; name: string; state: string }[];
  stations: { key: string; endpoints: number }[];
  /** Connections and RTSP sessions at the relay that are open now, and all sessions that were ever opened. */
  video: { connections: number; sessions: number; opened: number };
}

export function clipIn(msg: Message): ClipFacts {
  return msg.clip as ClipFacts;
}

/** Real Node-RED, with a cloud that may have its video relay on this machine, and a sandbox whose RTSP sessions are counted. */
export class VideoFlow {
  readonly station = new StationFlow();

  static async start(...how: Parameters<StationFlow['start']>): Promise<VideoFlow> {
    const flow = new VideoFlow();
    await flow.start(...how);
    return flow;
  }

  start(...how: Parameters<StationFlow['start']>): Promise<void> {
    return this.station.start(...how);
  }

  get camera(): SandboxCamera {
    return this.station.online;
  }

  stop(): Promise<void> {
    return this.station.stop();
  }

  /** Deploys nodes that get the messages which go in. @param cloud properties of its cloud beyond the usual ones */
  async deploy(nodes: FlowNode[], cloud: Message = {}): Promise<void> {
    await this.station.deployFlows(this.flows(nodes, cloud));
  }

  flows(nodes: readonly FlowNode[], cloud: Message = {}): FlowNode[] {
    return this.station.flows({ cloud: { localRelays: true, ...cloud } }, ...nodes);
  }

  /** Deploys a node and sends a message through; by default of an event. */
  async ask(node: FlowNode, msg: Message = { event: this.event() }): Promise<Message> {
    await this.deploy([node]);
    return this.station.through(msg);
  }

  /** Deploys a node that fails with a message, and has opened no RTSP session for that. */
  async refusal(node: FlowNode, msg: Message = { event: this.event() }): Promise<Failure & { msg: Message }> {
    await this.deploy([node]);
    let failed: Message = {};
    const opened = await this.openedBy(async () => (failed = await this.station.through(msg, 'failed')));
    assert.equal(opened, 0);
    return { ...(failed.error as Failure), msg: failed };
  }

  /** An event of a camera, as a webhook brings it. @param time epoch milliseconds */
  event(time = LONG_AGO, { id, remoteId, name } = this.camera): Message {
    const camera = { cameraId: id, cameraRemoteId: remoteId, cameraName: name };
    const eventStartTime = `${new Date(time).toISOString().slice(0, -1)}0000`;
    return { alarmId: `alarm-${time}`, ...camera, eventStartTime };
  }

  fault(fault: RtspFault): void {
    this.station.sandbox.setVideoFault(fault);
  }

  async endFaults(): Promise<void> {
    this.station.sandbox.clearVideoFaults();
    await this.station.endFaults();
  }

  async relay(): Promise<SandboxState['video']> {
    return (await this.station.state()).video;
  }

  async relayLeft(): Promise<void> {
    await eventually(async () => {
      const { connections, sessions } = await this.relay();
      return connections === 0 && sessions === 0;
    }, 'the end of all that was open at the relay');
  }

  async openedBy(work: () => Promise<unknown>): Promise<number> {
    const { opened: before } = await this.relay();
    await work();
    return (await this.relay()).opened - before;
  }
}

interface GroupOptions extends Omit<StartOptions, 'version'> {
  versions?: readonly NodeRedVersion[];
  /** Its tests are skipped where one is missing. */
  programs?: readonly Program[];
  sandbox?: SandboxOptions;
}

/** Tests around a flow, on each version of Node-RED that this lane has. A fault ends with its test. */
export function describeWith<Flow extends StationFlow | VideoFlow>(
  Kind: new () => Flow,
  title: string,
  { versions = NODE_RED_VERSIONS, programs = [], sandbox = {}, ...options }: GroupOptions,
  tests: (flow: Flow) => void,
): void {
  for (const version of versions)
    describe(`${title} in Node-RED ${version}`, () => {
      const flow = new Kind();
      before(async function () {
        needs(this, ...programs);
        await flow.start(version, sandbox, options);
      });
      afterEach(() => flow.endFaults());
      after(() => flow.stop());
      tests(flow);
    });
}
