import { RvmError } from '../../error';
import { tlsFault } from '../../tls';
import type { Operation } from '../operation';
import { TOO_LARGE } from './answer';
import { ProxyFault, TIMEOUTS } from './proxy';

/** Kind of a request, by the effect of sending it twice. */
export type RequestKind = 'GET' | 'login' | 'RTSP session' | 'command';

/** Why a request has failed. */
type Failure =
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

/** What must happen before a request is sent again. */
type Again = 'a pause' | 'a new login' | 'a probe' | 'never';

/**
 * Defines which requests are sent again, until the deadline of the call. A command, PTZ or other, is repeated only if it was
 * certainly not carried out; all other requests are safe to repeat. A login waits for the next probe of the service, which logs
 * in. Probes, requests of the editor and requests from the cache of the last run are sent once, apart from the new login. The
 * same table is in docs/service.md, "What is sent again".
 */
export const RETRY_POLICY: Readonly<Record<Failure, Readonly<Record<RequestKind, Again>>>> = {
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

/** Statuses for functions that the service lacks: waiting does not help. */
const NOT_IMPLEMENTED: ReadonlySet<number> = new Set([501, 505]);

/**
 * @param error the error of the attempt
 * @param isSent whether a connection had taken the request
 */
export function failureOf({ code, cause: { status } }: RvmError, isSent: boolean): Failure {
  if (code === 'NETWORK' && status !== undefined) return failureOfProxy(status);
  if (code === 'NETWORK') return isSent ? 'connection broke' : 'no connection';
  if (code === 'TIMEOUT') return isSent ? 'time-out' : 'no connection';
  if (code === 'HTTP_ERROR') return failureOfStatus(status ?? 0);
  if (code === 'RATE_LIMITED') return 'status 429';
  return code === 'CAMERA_BUSY' ? 'camera busy' : 'anything else';
}

/** Whether the cause of a failed login may end by itself, so that a later login succeeds without a user's action. */
export function isOutage(error: RvmError): boolean {
  const again = RETRY_POLICY[failureOf(error, true)].login;
  const circuit = again === 'never' ? 'circuit open by what a person cures' : 'circuit open by an outage';
  return RETRY_POLICY[circuit].login !== 'never';
}

/**
 * The proxy provides no connection: for a while, or because of its settings. A wrong login is not repeated, because that may
 * lock a user out.
 */
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

const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);
const UNREADABLE = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_EXCEEDED_MAX_SIZE)/;

/** The request that failed. */
interface FailedRequest {
  kind?: RequestKind;
  method: string;
  relation: string;
}

/** The error of a request without a complete answer, from the error of undici or the system. */
export function transportError(error: unknown, request: FailedRequest, attempts: number): RvmError {
  const { relation } = request;
  if (error instanceof RvmError) return error;
  const code = codeOf(error);
  const cause = { relation, attempts };
  if (error instanceof ProxyFault) return error.toRvmError(cause);
  if (TIMEOUTS.has(code)) return timeoutError(request, attempts);
  if (CLOSED.has(code)) return closedError(relation);
  const tls = error instanceof Error ? tlsFault(code, error.message, 'service') : undefined;
  if (tls !== undefined) return new RvmError('TLS', tls, cause);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new RvmError('BAD_RESPONSE', TOO_LARGE, cause);
  }
  const isNoHttp = error instanceof Error && error.name === 'HTTPParserError';
  if (isNoHttp || UNREADABLE.test(code)) {
    return new RvmError('BAD_RESPONSE', 'What answers at the address of the service is not HTTP.', cause);
  }
  return new RvmError(
    'NETWORK',
    `The service cannot be reached${code === '' ? '' : ` (${code})`}; check the network and the address of the cloud.`,
    cause,
  );
}

/** After a time-out it is unknown whether a command was carried out. */
export function timeoutError({ kind, method, relation }: FailedRequest, attempts: number): RvmError {
  const advice =
    method === 'GET' || kind !== undefined
      ? 'try again, or allow more time in the cloud'
      : 'whether it has done what was asked is not known: look before you try again';
  return new RvmError('TIMEOUT', `The service did not answer in time; ${advice}.`, { relation, attempts });
}

/** For a request that was queued too long; 0 attempts show that it was never sent. */
export function notSent({ relation }: FailedRequest): RvmError {
  return new RvmError(
    'TIMEOUT',
    'So many requests to the service were under way that this one was not sent; send fewer at a time.',
    { relation, attempts: 0 },
  );
}

export function closedError(relation: string): RvmError {
  return new RvmError('CANCELLED', 'The Central Station was closed before the request was complete.', {
    relation,
  });
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause instanceof Error ? codeOf(error.cause) : '';
}

/** Failures that do not come from a camera's own resource: the call ends with them, whatever that resource would show. */
const OF_THE_STATION: ReadonlySet<string> = new Set([
  'CANCELLED',
  'CONFIG_MISSING',
  'API_KEY_REJECTED',
  'LOGIN_FAILED',
  'INCOMPATIBLE_VERSION',
  'VERSION_NOT_REQUESTED',
]);

/** They also end a search over many cameras: the service cannot be reached. */
export const FATAL_CODES: ReadonlySet<string> = new Set([...OF_THE_STATION, 'NETWORK', 'TLS']);

/**
 * The result of a request that only supplies a hint; undefined if it fails.
 * @throws RvmError if the caller has given up, and for failures that other requests would have as well
 */
export async function undefinedOnServiceError<T>(
  operation: Operation,
  request: Promise<T | undefined>,
  fatal = OF_THE_STATION,
): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    operation.checkAlive();
    if (error instanceof RvmError && !fatal.has(error.code)) return undefined;
    throw error;
  }
}
