import type { RvmError } from '../../error';

/** What is sent, by what it does there to come twice. */
export type RequestKind = 'GET' | 'login' | 'RTSP session' | 'command';

/** Why a request has failed. */
export type Failure =
  | 'no connection'
  | 'connection broke'
  | 'time-out'
  | 'status 401, 403, 431'
  | 'status 408'
  | 'status 429'
  | 'status 5xx'
  | 'camera busy'
  | 'circuit open by an outage'
  | 'circuit open by what a person cures'
  | 'anything else';

/** What comes before a request is sent again. */
export type Again = 'a pause' | 'a new login' | 'a probe' | 'never';

/**
 * The one place that says what may be sent again, until the deadline of the call. A command, of PTZ or any other, goes out
 * again only where it was surely not carried out; what the others do may be done twice. A login waits for the next probe of the
 * service, which logs in. Probes, questions of the editor and hints of the last run are sent once, but for the new login. The same
 * table stands in docs/service.md, "What is sent again".
 */
export const SENT_AGAIN: Readonly<Record<Failure, Readonly<Record<RequestKind, Again>>>> = {
  'no connection': row('a pause', 'a probe', 'a pause', 'a pause'),
  'connection broke': row('a pause', 'a probe', 'a pause', 'never'),
  'time-out': row('a pause', 'a probe', 'a pause', 'never'),
  'status 401, 403, 431': row('a new login', 'never', 'a new login', 'a new login'),
  'status 408': row('a pause', 'a probe', 'a pause', 'never'),
  'status 429': row('a pause', 'a probe', 'a pause', 'a pause'),
  'status 5xx': row('a pause', 'a probe', 'a pause', 'never'),
  'camera busy': row('a pause', 'never', 'a pause', 'never'),
  'circuit open by an outage': row('a probe', 'a probe', 'a probe', 'a probe'),
  'circuit open by what a person cures': row('never', 'never', 'never', 'never'),
  'anything else': row('never', 'never', 'never', 'never'),
};

/** What the service has not learned it will not learn by waiting. */
const NOT_IMPLEMENTED: ReadonlySet<number> = new Set([501, 505]);

/**
 * @param error of the attempt
 * @param isSent whether a connection had taken it
 */
export function failureOf({ code, cause: { status } }: RvmError, isSent: boolean): Failure {
  if (code === 'NETWORK' && status !== undefined) return failureOfProxy(status);
  if (code === 'NETWORK') return isSent ? 'connection broke' : 'no connection';
  if (code === 'TIMEOUT') return isSent ? 'time-out' : 'no connection';
  if (code === 'HTTP_ERROR') return failureOfStatus(status ?? 0);
  if (code === 'RATE_LIMITED') return 'status 429';
  return code === 'CAMERA_BUSY' ? 'camera busy' : 'anything else';
}

/** Whether the service may let us in a moment later, without anybody's doing: what a login has failed with. */
export function isOutage(error: RvmError): boolean {
  const again = SENT_AGAIN[failureOf(error, true)].login;
  const circuit = again === 'never' ? 'circuit open by what a person cures' : 'circuit open by an outage';
  return SENT_AGAIN[circuit].login !== 'never';
}

/** It gives no connection: for a while, or because of what it was told, and a wrong login that is repeated may lock a user out. */
function failureOfProxy(status: number): Failure {
  return failureOfStatus(status) === 'anything else' ? 'anything else' : 'no connection';
}

function failureOfStatus(status: number): Failure {
  if (status === 408 || status === 429) return `status ${status}`;
  return status >= 500 && !NOT_IMPLEMENTED.has(status) ? 'status 5xx' : 'anything else';
}

function row(get: Again, login: Again, rtsp: Again, command: Again): Readonly<Record<RequestKind, Again>> {
  return { GET: get, login, 'RTSP session': rtsp, command };
}
