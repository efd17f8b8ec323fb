import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { LocalServer } from '../network/servers';

/** A request as the service saw it. */
export interface SeenRequest {
  method: string;
  /** Path with query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** When it came, as `performance.now()`. */
  at: number;
}

/** What the service does with one request. */
export type Reply =
  | {
      status?: number;
      headers?: Record<string, string | string[]>;
      json?: unknown;
      text?: string;
      bytes?: Buffer;
      after?: Promise<void>;
      /** Comes behind the bytes again and again, without end. */
      again?: Buffer;
    }
  | 'reset'
  | 'silence'
  /** The connection is closed in good order in the middle of the body. */
  | 'cut'
  /** Nothing more comes in the middle of the body. */
  | 'stall'
  /** A body that comes a byte at a time and never ends. */
  | 'trickle';

export type Route = (request: SeenRequest) => Reply;

/** Ids of the two cameras that there are. */
export const GATE = '0e9f0c1a-0000-e911-8000-000000000001';
export const YARD = '0e9f0c1a-0000-e911-8000-000000000002';

/**
 * A service for tests whose every answer can be scripted. As it starts it behaves as the specification says; a
 * test replaces the routes it is about.
 */
export class ScriptedService extends LocalServer {
  readonly apiKey = 'key-4711-secret';
  readonly username = 'agent7';
  readonly password = 'Pass+word&1';
  readonly seen: SeenRequest[] = [];
  readonly sessions = new Set<string>();
  /** The most connections that were open at one time. */
  mostConnections = 0;
  /** All connections that were ever opened. */
  opened = 0;
  /** Answers without end that somebody reads now. */
  endless = 0;
  devices: Record<string, unknown>[] = [];
  /** The usual answers, as the specification has them. */
  readonly usual: Route = (request) => this.standard(request);
  /** What answers where no route is scripted. */
  behaviour: Route = this.usual;
  readonly #routes = new Map<string, Route>();
  #logins = 0;

  constructor(private readonly tls?: ServerOptions) {
    const server = tls === undefined ? createServer() : createTlsServer(tls);
    super(server);
    server.on('connection', () => {
      this.opened += 1;
      this.mostConnections = Math.max(this.mostConnections, this.open.size);
    });
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        const { method = '', url = '', headers } = request;
        this.#answer({ method, path: url, headers, body, at: performance.now() }, response);
      });
    });
  }

  /**
   * @param tls makes it an https service
   * @param port any that is free, unless said
   */
  static async start(tls?: ServerOptions, port = 0): Promise<ScriptedService> {
    const service = new ScriptedService(tls);
    await service.begin(port);
    return service;
  }

  /** Listens, as if it had never been asked or told anything. */
  async begin(port = 0): Promise<void> {
    this.seen.length = 0;
    this.sessions.clear();
    this.#routes.clear();
    [this.mostConnections, this.opened, this.endless, this.#logins] = [0, 0, 0, 0];
    this.devices = [camera(GATE, 'Gate'), camera(YARD, 'Yard')];
    this.behaviour = this.usual;
    await this.listening(undefined, port);
  }

  override get url(): string {
    return `${this.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.port}`;
  }

  /** Number of connections open now. */
  get connections(): number {
    return this.open.size;
  }

  /** Sets the answer to a path: for every request, or one after the other with the last one standing. */
  on(method: string, path: string, ...replies: (Reply | Route)[]): void {
    let turn = 0;
    this.#routes.set(`${method} ${path}`, (request) => {
      const reply = replies[Math.min(turn, replies.length - 1)];
      turn += 1;
      if (reply === undefined) return { status: 500, text: 'no reply is scripted' };
      return typeof reply === 'function' ? reply(request) : reply;
    });
  }

  /** What answers to a path now. */
  route(method: string, path: string): Route {
    return this.#routes.get(`${method} ${path}`) ?? ((request) => this.behaviour(request));
  }

  count(method: string, path: string): number {
    return this.seen.filter((request) => request.method === method && request.path === path).length;
  }

  last(method: string, path: string): SeenRequest | undefined {
    return this.seen.findLast((request) => request.method === method && request.path === path);
  }

  /** Milliseconds between the requests for a path, in the order in which they came. */
  gaps(path: string): number[] {
    const times = this.seen.filter((request) => request.path === path).map(({ at }) => at);
    return times.slice(1).map((at, index) => at - (times[index] ?? 0));
  }

  loggedIn(request: SeenRequest): boolean {
    return [...this.sessions].some((session) => (request.headers.cookie ?? '').includes(`sid=${session}`));
  }

  /** Closes every connection, as a service does with those that are idle for long. */
  dropConnections(): void {
    for (const socket of this.open) socket.end();
  }

  #answer(request: SeenRequest, response: ServerResponse): void {
    this.seen.push(request);
    const path = request.path.replace(/\?.*$/, '');
    const route =
      this.#routes.get(`${request.method} ${request.path}`) ?? this.#routes.get(`${request.method} ${path}`);
    const reply = (route ?? this.behaviour)(request);
    if (reply === 'silence') return;
    if (reply === 'reset') return void response.destroy();
    if (reply === 'cut' || reply === 'stall') {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"devices":[');
      if (reply === 'cut') response.socket?.end();
      return;
    }
    if (reply === 'trickle') {
      const timer = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(timer));
      return;
    }
    void (reply.after ?? Promise.resolve()).then(() => {
      const type = reply.json === undefined ? {} : { 'Content-Type': 'application/json' };
      response.writeHead(reply.status ?? 200, { ...type, ...reply.headers });
      if (reply.again !== undefined) return this.#endless(response, reply.bytes, reply.again);
      response.end(reply.bytes ?? (reply.json === undefined ? reply.text : JSON.stringify(reply.json)));
    });
  }

  #endless(response: ServerResponse, first: Buffer | undefined, again: Buffer): void {
    this.endless += 1;
    if (first !== undefined) response.write(first);
    const timer = setInterval(() => response.write(again), 10);
    response.on('close', () => {
      clearInterval(timer);
      this.endless -= 1;
    });
  }

  standard(request: SeenRequest): Reply {
    if (request.headers['apikey'] !== this.apiKey)
      return { status: 401, json: { code: 'NoKey', message: 'key missing' } };
    const { method, path } = request;
    if (method === 'GET' && path === '/system') return this.system(request);
    if (method === 'POST' && path === '/login') return this.logIn(request);
    if (!this.loggedIn(request)) return { status: 401, json: { code: 'AuthExpired', message: 'no session' } };
    if (method === 'GET' && path === '/devices') return { json: { devices: this.devices } };
    if (method === 'GET' && path.startsWith('/sources/')) {
      return { json: { _links: { 'rel/rtsp': path.replace('/sources/', '/rtsp/') } } };
    }
    if (method === 'POST' && path.startsWith('/rtsp/'))
      return { json: { rtspRelayURL: 'rtsp://relay.example:8554/token-1' } };
    return { status: 404, json: { message: 'nothing here' } };
  }

  system(request: SeenRequest): Reply {
    const link = this.loggedIn(request) ? { 'rel/devices': '/devices' } : { 'rel/login': '/login' };
    return {
      headers: { 'Content-Type': 'application/json; version=3' },
      json: { id: 's', name: 'Service', _type: 'System', _links: { 'rel/self': '/system', ...link } },
    };
  }

  logIn(request: SeenRequest): Reply {
    const body: unknown = JSON.parse(request.body);
    const { username, password } = Object(body);
    if (username !== this.username || password !== this.password)
      return { status: 403, json: { code: 'Unauthenticated', message: 'wrong name or password' } };
    return { json: {}, headers: { 'Set-Cookie': `sid=${this.newSession()}; Path=/; HttpOnly` } };
  }

  /** Opens a session and gives the value of its cookie. */
  newSession(): string {
    this.#logins += 1;
    const session = `session-value-${this.#logins}`;
    this.sessions.add(session);
    return session;
  }
}

/** A device record as the specification shows it, with a few more fields. */
export function camera(
  id: string,
  name: string,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return { id, name, status: 'online', _links: { 'rel/data_sources': `/sources/${name}` }, ...more };
}

/** Video at an address that ends in the remote id it was asked for with. */
export function videoByRemoteId({ body }: SeenRequest): Reply {
  const { cameraId } = Object(JSON.parse(body));
  return { json: { rtspRelayURL: `rtsp://relay.example:8554/${cameraId}` } };
}

/** An answer that sets cookies. */
export function withCookies(cookies: string | string[], reply: Reply = {}): Reply {
  if (typeof reply === 'string') return reply;
  return { ...reply, headers: { ...reply.headers, 'Set-Cookie': cookies } };
}
