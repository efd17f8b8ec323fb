import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RvmErrorCode } from '../../error';

/** Why a viewer gets no video, as reported to the player: an error code, or a fault of the view itself. */
export type ViewFault = RvmErrorCode | 'VIEWERS' | 'EXPIRED' | 'INVALID' | 'NOT_ALLOWED';

/** HTTP status by fault; 502 for all others: a server behind this one has failed. */
const STATUS: { readonly [Fault in ViewFault]?: number } = {
  BAD_INPUT: 422,
  UNKNOWN_DELIVERY: 404,
  VIEWERS: 503,
  EXPIRED: 410,
  INVALID: 404,
  NOT_ALLOWED: 403,
  VIDEO_NOT_YET: 503,
  VIDEO_BUSY: 503,
  DECODER_MISSING: 501,
  TIMEOUT: 504,
};
/** Seconds after which a retry may succeed. */
const RETRY_AFTER = '5';

/** Milliseconds after which a viewer that reads nothing counts as gone, even if its connection is open. */
export const LONGEST_STANDSTILL = 20_000;

/** Headers of every answer: only the holder of the address may see a view, and browsers must not pass the address on. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex, nofollow',
};

export type Headers = Record<string, string | number>;

/** Sends a complete answer; its headers alone to HEAD. */
export function send(
  { method }: IncomingMessage,
  res: ServerResponse,
  content: { status?: number; type: string; body: string | Buffer; headers?: Headers },
): void {
  const { status = 200, type, body, headers } = content;
  if (res.headersSent || res.destroyed) return;
  begin(res, status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), ...headers });
  limitStandstill(res);
  if (method === 'HEAD') res.end();
  else res.end(body);
}

/** A client that stops reading must not keep the rest of an answer in memory: that may be a whole clip. */
export function limitStandstill(res: ServerResponse): void {
  res.setTimeout(LONGEST_STANDSTILL, () => res.destroy());
}

/** Sends the headers of an answer whose body follows. */
export function begin(res: ServerResponse, status: number, headers: Headers): void {
  res.writeHead(status, { ...HEADERS, ...headers });
}

/** Sends a fault as JSON; the player shows a text for its code. */
export function sendFault(req: IncomingMessage, res: ServerResponse, code: ViewFault): void {
  const status = STATUS[code] ?? 502;
  const headers: Headers = status === 503 ? { 'Retry-After': RETRY_AFTER } : {};
  send(req, res, { status, type: 'application/json', body: JSON.stringify({ code }), headers });
}

/** Sends a file or the requested range of it: players request a finished clip in parts, and some accept nothing else. */
export function sendFile(req: IncomingMessage, res: ServerResponse, type: string, body: Buffer): void {
  const headers: Headers = { 'Accept-Ranges': 'bytes' };
  const range = byteRange(req.headers.range, body.length);
  if (range === undefined) return send(req, res, { type, body, headers });
  if (range === 'outside')
    return send(req, res, {
      status: 416,
      type,
      body: '',
      headers: { ...headers, 'Content-Range': `bytes */${body.length}` },
    });
  const { first, last } = range;
  send(req, res, {
    status: 206,
    type,
    body: body.subarray(first, last + 1),
    headers: { ...headers, 'Content-Range': `bytes ${first}-${last}/${body.length}` },
  });
}

/** First and last byte. */
interface ByteRange {
  first: number;
  last: number;
}

const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The range of a file that a `Range` header requests (RFC 9110, section 14). Undefined where the header is ignored, for example
 * with several ranges; 'outside' where the file has no such bytes.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'outside' | undefined {
  const [, from = '', to = ''] = SINGLE.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') return lastBytes(Number(to), size);
  const [first, last] = [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)];
  if (first >= size) return 'outside';
  return first <= last ? { first, last } : undefined;
}

function lastBytes(count: number, size: number): ByteRange | 'outside' {
  return count === 0 || size === 0 ? 'outside' : { first: Math.max(0, size - count), last: size - 1 };
}
