import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { RvmError } from '../../lib/error';
import { onFlows } from './flow-run';

/** State of a connection to the service, as the client of a Central Station reports it. */
export type ConnectionState =
  | { kind: 'idle' }
  | { kind: 'logging-in' }
  | { kind: 'connected'; version: string | undefined }
  | { kind: 'offline'; since: Date }
  | { kind: 'refused'; error: RvmError };

/** The one status table of all nodes: fill and shape here, texts in the shared locale file under `status`. */
const TABLE = {
  connected: ['green', 'dot'],
  connectedVersion: ['green', 'dot'],
  loggingIn: ['yellow', 'ring'],
  sandbox: ['yellow', 'ring'],
  offlineSince: ['red', 'ring'],
  wrongApiKey: ['red', 'ring'],
  wrongPassword: ['red', 'ring'],
  incompatible: ['red', 'ring'],
  notConfigured: ['red', 'ring'],
  variableNotSet: ['red', 'ring'],
  lastAlarm: ['green', 'dot'],
  lastSandboxAlarm: ['yellow', 'ring'],
  problems: ['red', 'dot'],
  noSecret: ['red', 'ring'],
  pathInUse: ['red', 'ring'],
  noHttpNodes: ['red', 'ring'],
  noSettleEvent: ['red', 'ring'],
  needsNode: ['red', 'ring'],
} as const;

export type StatusName = keyof typeof TABLE;

/**
 * One row of the status table. Texts with a value are translated here; the others go out as their key, which the
 * editor translates into the language of the person who looks.
 */
export function status(RED: NodeAPI, name: StatusName, values?: Record<string, string | number>): NodeStatus {
  const [fill, shape] = TABLE[name];
  const key = `status.${name}`;
  return { fill, shape, text: values === undefined ? key : RED._(key, values) };
}

/**
 * Shows the status of a node that is being built: now for the editor, and once more when all flows run, because a
 * Status node that is built later would miss the first.
 */
export function showFromStart(RED: NodeAPI, node: Node, current: () => NodeStatus): void {
  const show = (): void => {
    node.status(current());
  };
  node.on('close', onFlows(RED, 'started', show));
  show();
}

/** What a node that uses a Central Station shows. */
export function connectionStatus(RED: NodeAPI, state: ConnectionState, isSandbox: boolean): NodeStatus {
  switch (state.kind) {
    case 'idle':
      return isSandbox ? status(RED, 'sandbox') : {};
    case 'logging-in':
      return status(RED, 'loggingIn');
    case 'connected':
      if (isSandbox) return status(RED, 'sandbox');
      return state.version === undefined
        ? status(RED, 'connected')
        : status(RED, 'connectedVersion', { version: state.version });
    case 'offline':
      return status(RED, 'offlineSince', { time: clockTime(state.since) });
    case 'refused':
      return status(RED, refusal(state.error));
    default:
      return state satisfies never;
  }
}

/** Local time of day, as the person in front of the editor reads it. */
export function clockTime(time: Date): string {
  return time.toLocaleTimeString(undefined, { hour12: false });
}

function refusal(error: RvmError): StatusName {
  if (error.code === 'API_KEY_REJECTED') return 'wrongApiKey';
  if (error.code === 'LOGIN_FAILED') return 'wrongPassword';
  if (error.code === 'INCOMPATIBLE_VERSION' || error.code === 'VERSION_NOT_REQUESTED') return 'incompatible';
  return 'notConfigured';
}
