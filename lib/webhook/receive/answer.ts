import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long, and how much, of an unread body is let run out before the connection closes. */
const LINGER_MS = 2000;
const LINGER_BYTES = 8 * 1024 * 1024;

interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/** The answers of the receiver; every one is constant, so that none tells an outsider anything. */
const ANSWERS = {
  accepted: { status: 200, body: '{"ok":true}' },
  unauthentic: {
    status: 401,
    body: '{"error":"not authentic"}',
    headers: { 'WWW-Authenticate': 'HMAC-SHA256' },
  },
  method: { status: 405, body: '{"error":"only POST"}', headers: { Allow: 'POST' } },
  large: { status: 413, body: '{"error":"body too large"}', headers: { Connection: 'close' } },
  compressed: { status: 415, body: '{"error":"compressed body"}' },
  malformed: { status: 400, body: '{"error":"malformed request"}', headers: { Connection: 'close' } },
  unknown: { status: 404, body: '{"error":"not found"}' },
  works: { status: 200, body: '{"ok":true}', headers: { 'Cache-Control': 'no-store' } },
  'works-not': { status: 503, body: '{"ok":false}', headers: { 'Cache-Control': 'no-store' } },
  'not-get': { status: 405, body: '{"error":"only GET"}', headers: { Allow: 'GET, HEAD' } },
  head: { status: 431, body: '{"error":"too many headers"}', headers: { Connection: 'close' } },
} satisfies Record<string, Answer>;

export type AnswerName = keyof typeof ANSWERS;

/** Status and headers of an answer, for a flow that answers by itself. */
export function headOf(name: AnswerName): Pick<Answer, 'status' | 'headers'> {
  return ANSWERS[name];
}

/** Answers a request. Where its body was not read to the end, the connection closes after the answer. */
export function answer(req: IncomingMessage, res: ServerResponse, name: AnswerName): void {
  if (res.headersSent || res.destroyed) return;
  const { status, body, headers }: Answer = ANSWERS[name];
  const unread = hasBody(req) && !req.complete;
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
    ...(unread && { Connection: 'close' }),
  });
  if (!unread) {
    res.end(body);
    return;
  }
  res.write(body);
  linger(req, res);
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/**
 * Lets the rest of the body run out unseen before the connection is closed: closed at once, it would be reset, and a
 * sender that is still writing would never see the answer.
 */
function linger(req: IncomingMessage, res: ServerResponse): void {
  let bytes = 0;
  const finish = (): void => {
    clearTimeout(timer);
    req.off('data', onData);
    res.end();
  };
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) finish();
  };
  const timer = setTimeout(finish, LINGER_MS);
  req.on('error', () => undefined);
  req.once('close', finish);
  req.once('end', finish);
  req.on('data', onData);
}

/**
 * Ends the connection without an answer: for the sender a connection error, the one case for which the service
 * promises a resend (specification, section 6).
 */
export function cut(req: IncomingMessage): void {
  req.socket.destroy();
}
