import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RvmErrorCode } from '../../error';

/** Why a viewer gets nothing, as the player is told: a code of an error, or what only a view knows. */
export type ViewFault = RvmErrorCode | 'VIEWERS' | 'EXPIRED' | 'INVALID' | 'NOT_ALLOWED';

/** Status of a fault; 502 for all others: what is behind us has failed. */
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
/** Seconds after which it may be worth another try. */
const RETRY_AFTER = '5';

/** A viewer that takes nothing for so long is gone, whatever its connection says. Milliseconds. */
export const LONGEST_STANDSTILL = 20_000;

/** Of every answer: a view is for the one who has its address, and for nobody whom the browser might tell of it. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex, nofollow',
};

export type Headers = Record<string, string | number>;

/** Answers with all of a content, or, to HEAD, with its head alone. */
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

/** Whoever does not fetch the rest of an answer must not make us keep it, which may be a whole clip. */
export function limitStandstill(res: ServerResponse): void {
  res.setTimeout(LONGEST_STANDSTILL, () => res.destroy());
}

/** The head of an answer whose body is still to come. */
export function begin(res: ServerResponse, status: number, headers: Headers): void {
  res.writeHead(status, { ...HEADERS, ...headers });
}

/** What a viewer's player makes words of. */
export function sendFault(req: IncomingMessage, res: ServerResponse, code: ViewFault): void {
  const status = STATUS[code] ?? 502;
  const headers: Headers = status === 503 ? { 'Retry-After': RETRY_AFTER } : {};
  send(req, res, { status, type: 'application/json', body: JSON.stringify({ code }), headers });
}

/** Whole, or the part of it that was asked for: players ask for a finished clip in pieces, some for nothing else. */
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
 * The part of a file that a `Range` header asks for (RFC 9110, section 14): undefined where it counts as none, such as several
 * parts at once, which nobody needs to be given; 'outside' where the file has nothing there.
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
