import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { badRequest, Refusal } from '../refusal';

/** A request whose body has been read. */
export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  remoteAddress: string;
  body: Buffer;
}

export interface Answer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** A Buffer is sent as it is, anything else as JSON; absent = no body. */
  body?: unknown;
}

/** `reset` cuts the connection without an answer. */
type Answerer = (call: Call) => Promise<Answer | 'reset'>;

const LARGEST_BODY = 65_536;
const REQUEST_TIMEOUT_MS = 15_000;

/** A plain HTTP server: limits request bodies, writes JSON, converts a {@link Refusal} to an answer. */
export class HttpServer {
  /** Such as `http://127.0.0.1:8088`. */
  readonly url: string;

  private constructor(private readonly server: Server) {
    this.url = urlOf(server.address());
  }

  /** Rejects with the system's error if the port is in use. */
  static async start(host: string, port: number, answerer: Answerer): Promise<HttpServer> {
    const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
      void respond(request, response, answerer);
    });
    await once(server.listen(port, host), 'listening');
    return new HttpServer(server);
  }

  /** Closes every connection, also one whose request is not answered yet. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }
}

/** For the unspecified address, which includes loopback, the URL names 127.0.0.1. */
function urlOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') return '';
  const { address: host, family, port } = address;
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return family === 'IPv6' ? `http://[${host}]:${port}` : `http://${host}:${port}`;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answerer: Answerer,
): Promise<void> {
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  const answer = await readCall(request).then(answerer).catch(answerOfError);
  if (answer === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  write(response, answer, request.method === 'HEAD');
}

async function readCall(request: IncomingMessage): Promise<Call> {
  const url = parseTarget(request.url ?? '/');
  return {
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    remoteAddress: request.socket.remoteAddress ?? '',
    body: await readBody(request),
  };
}

function parseTarget(target: string): URL {
  const url = URL.parse(target.startsWith('/') ? `http://sandbox${target}` : target);
  if (url === null) throw new Refusal(400, 'InvalidValue', 'The request target cannot be read.');
  return url;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Not destroyed on an early exit: the error answer is sent on the same socket.
  const parts: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of parts) {
    size += chunk.length;
    if (size > LARGEST_BODY) {
      const message = `A request body may have at most ${LARGEST_BODY} bytes.`;
      throw new Refusal(413, 'TooLarge', message, { headers: { Connection: 'close' } });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answerOfError(error: unknown): Answer {
  const refusal =
    error instanceof Refusal ? error : new Refusal(500, 'Internal', 'The sandbox failed to answer.');
  const { status, code, message, field, headers } = refusal;
  return { status, headers, body: { _type: 'Error', code, message, field } };
}

function write(response: ServerResponse, answer: Answer, headOnly: boolean): void {
  const { status, body } = answer;
  if (body === undefined || status === 204 || status === 304) {
    response.writeHead(status, { ...answer.headers }).end();
    return;
  }
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'Content-Length': String(bytes.length),
    ...answer.headers,
  });
  response.end(headOnly ? undefined : bytes);
}

export type Body = Readonly<Record<string, unknown>>;

/** Parses the JSON object in a request's body; an empty body is an empty object. @throws Refusal 400 */
export function jsonBody(body: Buffer): Body {
  if (body.length === 0) return {};
  const value = parse(body.toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('The body must be a JSON object.');
  }
  return { ...value };
}

/** A required, non-empty string. @throws Refusal 400 */
export function requiredText(body: Body, field: string): string {
  const value = optionalText(body, field);
  if (value === undefined || value === '') throw badRequest(`${field} is missing.`, field);
  return value;
}

/** A string, or undefined if the field is absent or null. @throws Refusal 400 for any other type */
export function optionalText(body: Body, field: string): string | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw badRequest(`${field} must be a text.`, field);
  return value;
}

/** A number within bounds, or undefined if the field is absent or null. @throws Refusal 400 */
export function optionalNumber(
  body: Body,
  field: string,
  { low, high, whole = false }: { low: number; high: number; whole?: boolean },
): number | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  const fits = typeof value === 'number' && value >= low && value <= high;
  if (fits && (!whole || Number.isInteger(value))) return value;
  throw badRequest(`${field} must be a ${whole ? 'whole number' : 'number'} from ${low} to ${high}.`, field);
}

/** Refuses unknown fields, which are most likely misspelled. @throws Refusal 400 */
export function onlyFields(body: Body, known: readonly string[]): void {
  const unknown = Object.keys(body).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  throw badRequest(`${unknown} is not known here; known are ${known.join(', ')}.`, unknown);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('The body is not JSON.');
  }
}

/** The variable parts of a path, for a pattern such as `devices/:camera/rtsp`; undefined = no match. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const expectedParts = pattern.split('/');
  const parts = path.split('/');
  if (expectedParts.length !== parts.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, expected] of expectedParts.entries()) {
    const part = parts[index] ?? '';
    if (expected.startsWith(':')) parameters[expected.slice(1)] = part;
    else if (expected !== part) return undefined;
  }
  return parameters;
}

/**
 * The one of the matching routes that has this method.
 * @param nothing text where none matches
 * @throws Refusal 404, 405
 */
export function withMethod<Match extends { route: { method: string } }>(
  matches: readonly Match[],
  method: string,
  nothing: string,
): Match {
  const match = matches.find(({ route }) => route.method === method);
  if (match !== undefined) return match;
  if (matches.length === 0) throw new Refusal(404, 'NotFound', nothing);
  throw notAllowed(matches.map(({ route }) => route.method).join(', '));
}

/** @param allowed methods, separated by commas */
export function notAllowed(allowed: string): Refusal {
  return new Refusal(405, 'MethodNotAllowed', `Allowed here: ${allowed}.`, { headers: { Allow: allowed } });
}
