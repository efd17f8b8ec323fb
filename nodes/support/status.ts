import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { StationState } from '../../lib/cloud/session/service-health';
import type { RvmErrorCode } from '../../lib/error';
import type { Problem } from '../../lib/webhook/problem';
import { onFlowsState } from './flows';
import type { UnsetVariables } from './settings';
import { said, withWords, type Words, wordsOf, type WordValue } from './status-words';

/** Status table of all nodes: fill and shape here, texts in the shared locale file under `status`. */
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
  wrongSetting: ['red', 'ring'],
  noPermission: ['red', 'ring'],
  linkNotOffered: ['red', 'ring'],
  untrustedLink: ['red', 'ring'],
  sandboxFailed: ['red', 'ring'],
  sandboxForbidden: ['red', 'ring'],
  variableNotSet: ['red', 'ring'],
  variablesNotSet: ['red', 'ring'],
  lastAlarm: ['green', 'dot'],
  lastSandboxAlarm: ['yellow', 'ring'],
  notProven: ['red', 'ring'],
  samePhrase: ['red', 'ring'],
  unknownClass: ['red', 'ring'],
  unknownSite: ['red', 'ring'],
  unknownCamera: ['red', 'ring'],
  problems: ['red', 'dot'],
  noSecret: ['red', 'ring'],
  portInUse: ['red', 'ring'],
  pathInUse: ['red', 'ring'],
  pathImpossible: ['red', 'ring'],
  pathReserved: ['red', 'ring'],
  pathKept: ['red', 'ring'],
  noHttpNodes: ['red', 'ring'],
  noSettleEvent: ['red', 'ring'],
  notDurable: ['red', 'ring'],
  backlog: ['yellow', 'dot'],
  allWell: ['green', 'dot'],
  watchFault: ['red', 'dot'],
  watchWarning: ['yellow', 'dot'],
  alarmRaised: ['yellow', 'dot'],
  alarmArmed: ['green', 'dot'],
  alarmCounting: ['green', 'ring'],
  alarmDisarmed: ['grey', 'ring'],
  alarmGroupsDisarmed: ['grey', 'dot'],
  alarmOnTest: ['blue', 'ring'],
  alarmGroupsOnTest: ['blue', 'dot'],
  openingVideo: ['blue', 'dot'],
  waitingForVideo: ['blue', 'ring'],
  readingVideo: ['blue', 'dot'],
  readingVideoOf: ['blue', 'dot'],
  decoderMissing: ['red', 'ring'],
  needsNode: ['red', 'ring'],
} as const;

export type StatusName = keyof typeof TABLE;

/**
 * A status from the table, translated by the editor: without values its text is sent as a key, which the editor knows; with
 * values, key and values are sent separately (decision 0056).
 */
export function status(RED: NodeAPI, name: StatusName, values?: Record<string, WordValue>): NodeStatus {
  const [fill, shape] = TABLE[name];
  const key = `status.${name}`;
  return values === undefined ? { fill, shape, text: key } : withWords(RED, { fill, shape }, { key, values });
}

/** Status for unset environment variables: names all of them, so that a user can set them at once. */
export function unsetStatus(RED: NodeAPI, variables: UnsetVariables): NodeStatus {
  const [variable, ...others] = variables;
  if (others.length === 0) return status(RED, 'variableNotSet', { variable });
  return status(RED, 'variablesNotSet', { variables: variables.join(', ') });
}

/** Short text of each error, by its name under `status` in the shared locale file. */
const FAILURES: Readonly<Record<RvmErrorCode, string>> = {
  CONFIG_MISSING: 'notConfigured',
  BAD_INPUT: 'wrongInput',
  API_KEY_REJECTED: 'wrongApiKey',
  LOGIN_FAILED: 'wrongPassword',
  INCOMPATIBLE_VERSION: 'incompatible',
  VERSION_NOT_REQUESTED: 'incompatible',
  PERMISSION_DENIED: 'noPermission',
  LINK_NOT_OFFERED: 'linkNotOffered',
  UNTRUSTED_LINK: 'untrustedLink',
  DEVICE_NOT_FOUND: 'deviceNotFound',
  DEVICE_OFFLINE: 'deviceOffline',
  EVENT_WITHOUT_CAMERA: 'eventWithoutCamera',
  TARGET_NOT_FOUND: 'targetNotFound',
  CAMERA_BUSY: 'cameraBusy',
  BAD_RESPONSE: 'badResponse',
  HTTP_ERROR: 'httpError',
  RATE_LIMITED: 'rateLimited',
  TIMEOUT: 'timedOut',
  NETWORK: 'noConnection',
  TLS: 'tlsFailed',
  CANCELLED: 'cancelled',
  VIDEO_NOT_YET: 'videoNotYet',
  VIDEO_FAILED: 'videoFailed',
  VIDEO_BUSY: 'videoBusy',
  DECODER_MISSING: 'decoderMissing',
  STORE_FAILED: 'storeFailed',
  UNKNOWN_DELIVERY: 'unknownDelivery',
};

/** Status after a failed message: a dot, because the ring is for faults that concern every message. */
export function failureStatus(code: RvmErrorCode): NodeStatus {
  return { fill: 'red', shape: 'dot', text: `status.${FAILURES[code]}` };
}

/** Joins statuses into one, with fill and shape of the first; undefined where there are none. */
export function jointStatus(RED: NodeAPI, statuses: readonly NodeStatus[]): NodeStatus | undefined {
  const [first, ...others] = statuses;
  if (first === undefined || others.length === 0) return first;
  return withWords(RED, first, joint(statuses.map(wordsOf)));
}

/** Joins at least one text into one. */
export function joint(texts: readonly Words[]): Words {
  return texts.reduce((first, second) => ({ key: 'status.joint', values: { first, second } }));
}

/** Text below a node with this status, in the language of Node-RED. */
export function shownText(RED: NodeAPI, status: NodeStatus): string {
  const { text = '' } = status;
  return text.startsWith('status.') ? said(RED, { key: text }) : text;
}

/**
 * Shows the status of a node under construction: now for the editor, and again when all flows run, because a Status node built
 * later would miss the first.
 */
export function showFromStart(RED: NodeAPI, node: Node, current: () => NodeStatus): void {
  const show = (): void => {
    node.status(current());
  };
  node.on('close', onFlowsState(RED, 'started', show));
  show();
}

/** Status of a station that is refused, by the service or because of its settings. */
const REFUSALS: Readonly<Partial<Record<RvmErrorCode, StatusName>>> = {
  API_KEY_REJECTED: 'wrongApiKey',
  LOGIN_FAILED: 'wrongPassword',
  INCOMPATIBLE_VERSION: 'incompatible',
  VERSION_NOT_REQUESTED: 'incompatible',
  PERMISSION_DENIED: 'noPermission',
  LINK_NOT_OFFERED: 'linkNotOffered',
  UNTRUSTED_LINK: 'untrustedLink',
  BAD_INPUT: 'wrongSetting',
  // A service out of reach is `offline`, not refused, so NETWORK concerns the sandbox here.
  NETWORK: 'sandboxFailed',
};

/** Status of a node that uses a Central Station. */
export function connectionStatus(RED: NodeAPI, state: StationState, isSandbox: boolean): NodeStatus {
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
      return status(RED, 'offlineSince', { time: momentOf(state.since) });
    case 'refused':
      return status(RED, REFUSALS[state.error.code] ?? 'notConfigured');
    default:
      return state satisfies never;
  }
}

/** Status of a node that receives alarms. A sandbox never looks like a real service. */
export function lastAlarmStatus(RED: NodeAPI, lastAt: Date | undefined, isSandbox: boolean): NodeStatus {
  if (lastAt === undefined) return isSandbox ? status(RED, 'sandbox') : {};
  return status(RED, isSandbox ? 'lastSandboxAlarm' : 'lastAlarm', { time: momentOf(lastAt) });
}

/** A time within a status. */
export function momentOf(time: Date): WordValue {
  return { moment: time.getTime() };
}

/** A problem in the form that a flow receives. */
export interface ToldProblem extends Problem {
  /** One sentence in the language of Node-RED: what happened, and what to do. */
  text: string;
}

/** Text key of a problem among the shared texts; the sidebar translates it for its user. */
export function problemKey({ kind, reason, ended }: Pick<Problem, 'kind' | 'reason' | 'ended'>): string {
  if (ended === true) return `shared.problem.${reason}Ended`;
  // A conflict may concern a dead letter: the advice is that for a conflict.
  return `shared.problem.${kind === 'conflict' || reason === null ? kind : reason}`;
}

/** @param values values for the text of this kind, besides the number of messages */
export function toldProblem(
  RED: NodeAPI,
  problem: Problem,
  values: Record<string, string> = {},
): ToldProblem {
  const { kind, reason, ...facts } = problem;
  const incident = reason === 'store' ? problem.note : undefined;
  const text = incident ?? RED._(problemKey(problem), { count: problem.count, ...values });
  return { kind, reason, text, ...facts };
}
