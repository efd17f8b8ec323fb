import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Refusal } from '../refusal';

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
export type Answerer = (call: Call) => Promise<Answer | 'reset'>;

const LARGEST_BODY = 65_536;
const REQUEST_TIMEOUT_MS = 15_000;

/** A plain HTTP server: reads bodies within a limit, writes JSON, turns a {@link Refusal} into its answer. */
export class HttpServer {
  readonly #server;
  #url = '';

  private constructor(answerer: Answerer) {
    this.#server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
      void respond(request, response, answerer);
    });
  }

  /** Rejects with the system's error where the port is taken. */
  static async start(options: { host: string; port: number; answerer: Answerer }): Promise<HttpServer> {
    const server = new HttpServer(options.answerer);
    await server.#listen(options.host, options.port);
    return server;
  }

  /** Such as `http://127.0.0.1:8088`. */
  get url(): string {
    return this.#url;
  }

  /** Ends every connection, also one that waits for its answer. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        this.#url = urlOf(this.#server.address());
        resolve();
      });
    });
  }
}

/** The unspecified address means every one of this machine, so loopback reaches it. */
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
  // Kept open on an early return: the refusal has to go out by the same socket.
  const parts: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of parts) {
    size += chunk.length;
    if (size > LARGEST_BODY) {
      throw new Refusal(413, 'TooLarge', `A request body may have at most ${LARGEST_BODY} bytes.`, {
        headers: { Connection: 'close' },
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answerOfError(error: unknown): Answer {
  const refusal =
    error instanceof Refusal ? error : new Refusal(500, 'Internal', 'The sandbox failed to answer.');
  const { status, code, message, field, headers } = refusal;
  return {
    status,
    headers,
    body: { _type: 'Error', code, message, ...(field === undefined ? {} : { field }) },
  };
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
