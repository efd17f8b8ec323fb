import { RvmError } from '../../error';
import { TOO_LARGE } from './content-coding';
import { ProxyFault } from './connection/proxy-fault';
import { tlsFault } from '../../tls';
import type { RequestKind } from './sent-again';

const TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);
const UNREADABLE = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_EXCEEDED_MAX_SIZE)/;

/** What was asked for. */
interface Asked {
  kind?: RequestKind;
  method: string;
  relation: string;
}

/** The error of a request that got no complete answer, from what undici or the system reported. */
export function transportError(error: unknown, asked: Asked, attempts: number): RvmError {
  const { relation } = asked;
  if (error instanceof RvmError) return error;
  const code = codeOf(error);
  const cause = { relation, attempts };
  if (error instanceof ProxyFault) return error.toRvmError(cause);
  if (TIMEOUTS.has(code)) return timeoutError(asked, attempts);
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

/** Of a command nobody knows whether it was carried out. */
export function timeoutError({ kind, method, relation }: Asked, attempts: number): RvmError {
  const advice =
    method === 'GET' || kind !== undefined
      ? 'try again, or allow more time in the cloud'
      : 'whether it has done what was asked is not known: look before you try again';
  return new RvmError('TIMEOUT', `The service did not answer in time; ${advice}.`, { relation, attempts });
}

/** Of a request that waited in line for too long; that it was never sent shows in its attempts. */
export function notSent({ relation }: Asked): RvmError {
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
