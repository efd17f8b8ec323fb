import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RvmError } from '../error';
import { isRecord } from '../json/json';
import type { Metrics } from './metrics';

/** A scraper needs one connection for a few seconds. Beyond this limit the connection idle for longest is closed. */
const MOST_CONNECTIONS = 20;
const HEAD_MS = 5000;
const REQUEST_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
/** Milliseconds before a port in use is tried again. */
const AGAIN_AFTER = 5000;

const METHODS = ['GET', 'HEAD'];

interface MetricsServerOptions {
  address: MetricsAddress;
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  onListening: (url: string) => void;
  /** Called with the reason why it does not listen, each reason once. NETWORK: it is tried again. */
  onFault: (fault: RvmError) => void;
  /** Default 5,000. */
  againAfter?: number;
}

/** Serves `/metrics` and nothing else, to every client that can reach it. Does not keep the process alive. */
export class MetricsServer {
  readonly #server: http.Server;
  readonly #open = new Set<Socket>();
  /** Open connections that wait for their client to send or read, idle longest first. */
  readonly #idle = new Set<Socket>();
  #reported: string | undefined;
  #again: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: MetricsServerOptions) {
    this.#server = http.createServer(
      {
        headersTimeout: HEAD_MS,
        requestTimeout: REQUEST_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxHeaderSize: 16 * 1024,
        insecureHTTPParser: false,
      },
      (req, res) => void this.#serve(req, res),
    );
    this.#server.on('connection', (socket: Socket) => this.#accepted(socket));
    this.#server.on('listening', () => options.onListening(this.url ?? ''));
    // Also emitted for connections that cannot be accepted; without a listener it would end the process.
    this.#server.on('error', (error) => this.#failed(error));
    this.#server.unref();
  }

  /** Listens; a port in use is tried again. */
  open(): void {
    this.#listen();
  }

  /** Undefined while it does not listen. */
  get url(): string | undefined {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') return undefined;
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `http://${host}:${address.port}/metrics`;
  }

  /** Resolves when the port is free. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#again);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #listen(): void {
    const { port, host } = this.options.address;
    if (!this.#closed) this.#server.listen({ port, host });
  }

  #failed(error: unknown): void {
    if (this.#server.listening) return;
    const fault = metricsFault(error, this.options.address);
    if (fault.message !== this.#reported) this.options.onFault(fault);
    this.#reported = fault.message;
    if (fault.code !== 'NETWORK') return;
    this.#again = setTimeout(() => this.#listen(), this.options.againAfter ?? AGAIN_AFTER);
    this.#again.unref();
  }

  #accepted(socket: Socket): void {
    this.#open.add(socket);
    this.#idle.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#idle.delete(socket);
    });
    const [longest] = this.#idle;
    if (this.#open.size > MOST_CONNECTIONS) longest?.destroy();
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { socket } = req;
    this.#idle.delete(socket);
    await this.#answer(req, res);
    if (this.#open.has(socket)) this.#idle.add(socket);
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { metrics } = this.options;
    // The body is read and discarded.
    req.resume();
    if (req.url?.replace(/\?.*$/s, '') !== '/metrics')
      return end(res, 404, 'Only /metrics is served here.\n');
    if (!METHODS.includes(req.method ?? ''))
      return end(res, 405, 'Only GET and HEAD.\n', { Allow: METHODS.join(', ') });
    const headers = { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' };
    if (req.method === 'HEAD') return void res.writeHead(200, headers).end();
    try {
      end(res, 200, await metrics.text(), headers);
    } catch {
      // The client sees only that it failed: the reason could quote anything.
      end(res, 500, 'The metrics could not be read.\n');
    }
  }
}

function end(
  res: ServerResponse,
  status: number,
  text: string,
  headers: http.OutgoingHttpHeaders = {},
): void {
  res.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  res.end(text);
}

/** Where metrics are served. */
export interface MetricsAddress {
  /** 0 = one that the system chooses. */
  port: number;
  /** Name or address of this machine. */
  host: string;
}

/** The usual port of exporters of Node.js. There is no login: by default only this machine can connect. */
const DEFAULT: MetricsAddress = { port: 9464, host: '127.0.0.1' };
const EXAMPLE = "rvmMetrics: { port: 9464, host: '127.0.0.1' }";

/**
 * The value of `rvmMetrics` in settings.js; undefined where it is absent or false.
 * @throws RvmError BAD_INPUT
 */
export function readMetricsAddress(setting: unknown): MetricsAddress | undefined {
  if (setting === undefined || setting === null || setting === false) return undefined;
  if (!isRecord(setting)) throw refused('is no object');
  const { port = DEFAULT.port, host = DEFAULT.host, ...others } = setting;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw refused(`has "${unknown}", which is not known`);
  // A port from the environment is a text.
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > 65_535)
    throw refused('has a port that is no whole number from 1 to 65535');
  if (typeof host !== 'string' || host.trim() === '') throw refused('has a host that is no name or address');
  return { port: number, host: host.trim() };
}

function refused(what: string): RvmError {
  return new RvmError(
    'BAD_INPUT',
    `The metrics are not served, because rvmMetrics in settings.js ${what}: write it as in ${EXAMPLE}, and restart Node-RED.`,
  );
}

/** The error for an address that could not be opened: NETWORK where another program uses it, else BAD_INPUT. */
function metricsFault(error: unknown, { port, host }: MetricsAddress): RvmError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  switch (code) {
    case 'EADDRINUSE':
      return new RvmError(
        'NETWORK',
        `The metrics are not served, because port ${port} of ${host} is in use by another program, perhaps a second Node-RED: give each a port of its own by rvmMetrics in settings.js. It is tried again every few seconds.`,
      );
    case 'EACCES':
      return new RvmError(
        'BAD_INPUT',
        `The metrics are not served, because Node-RED may not open port ${port}: choose one from 1024 on as port of rvmMetrics in settings.js.`,
      );
    default:
      return new RvmError(
        'BAD_INPUT',
        `The metrics are not served, because port ${port} of "${host}" cannot be opened (${code}): enter an address of this machine as host of rvmMetrics in settings.js, 127.0.0.1 or 0.0.0.0 say.`,
      );
  }
}
