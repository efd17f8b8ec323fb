import assert from 'node:assert/strict';
import { inboxesOpen } from '../node-red/inboxes-open';
import type { FlowNode, NodeRed } from '../node-red/node-red';
import { eventually } from '../time/patience';

/** The answer to `GET /sandbox/state`, as far as tests of examples look at it. */
export interface SandboxState {
  cameras: { id: string; name: string; status: string; ptz: { position: string } | null }[];
  stations: { key: string; endpoints: number }[];
}

/** What `POST /sandbox/alarms` takes. */
export interface AlarmToRaise {
  camera?: string;
  eventClass?: 'security' | 'health';
  eventName?: string;
  /** It ends after that time. */
  seconds?: number;
}

export interface RaisedAlarm {
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
