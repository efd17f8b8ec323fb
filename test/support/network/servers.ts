import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { eventually } from '../time/patience';

/**
 * Waits until a program takes connections on all of these ports.
 * @param log what it has told, for the error where it ends or does not listen
 */
export async function untilListening(
  child: ChildProcess,
  ports: readonly number[],
  log: () => string,
): Promise<void> {
  const isListening = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} has ended: ${log()}`);
    return (await Promise.all(ports.map(accepts))).every(Boolean);
  };
  await eventually(isListening, `${child.spawnfile} to listen`);
}

/** Ends a process, unless it has ended, and waits for that. */
export async function endProcess(child: ChildProcess | undefined, signal?: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

export const portOf = (server: Pick<net.Server, 'address'>): number => (server.address() as AddressInfo).port;

/** A server on this machine, and the connections to it that are open. */
export class LocalServer {
  readonly open = new Set<Socket>();

  /** @param connected of a server of TLS, what tells of a connection that is decrypted */
  protected constructor(
    private readonly server: net.Server,
    connected: 'connection' | 'secureConnection' = 'connection',
  ) {
    server.on(connected, (socket: Socket) => {
      this.open.add(socket);
      socket.on('error', () => undefined).on('close', () => this.open.delete(socket));
    });
  }

  protected async listening(host = '127.0.0.1', port = 0): Promise<this> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    return this;
  }

  get port(): number {
    return portOf(this.server);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    if (!this.server.listening) return;
    this.server.close();
    await once(this.server, 'close');
  }
}

/** Takes connections and says nothing, not even the answer to a TLS handshake. */
export class MuteServer extends LocalServer {
  /** @param port any that is free, unless said */
  static start(port?: number): Promise<MuteServer> {
    return new MuteServer(net.createServer((socket) => socket.resume())).listening(undefined, port);
  }

  override get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get connections(): number {
    return this.open.size;
  }
}

type Connected = (request: IncomingMessage, socket: Socket) => void;

/** A server that does what a test wants, with the connections to it. */
export class OddServer extends LocalServer {
  connections = 0;

  private constructor(server: net.Server) {
    super(server);
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      // The server of node:http leaves the other half open.
      socket.on('end', () => socket.end());
    });
  }

  static start(server: net.Server): Promise<OddServer> {
    return new OddServer(server).listening();
  }

  /** A proxy: what it does with CONNECT. */
  static connect(connected: Connected): Promise<OddServer> {
    return OddServer.start(http.createServer().on('connect', connected));
  }

  /** What it does with each socket. */
  static raw(connected: (socket: Socket) => void): Promise<OddServer> {
    return OddServer.start(net.createServer(connected));
  }

  /** Ends all connections from this side, and waits for their end. */
  async interrupt(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    await eventually(() => this.open.size === 0, 'the end of the connections');
  }
}

/**
 * A way to a server that can be cut as by a pulled cable: nothing goes through in either direction, nobody is told, and what
 * is under way arrives once it is mended.
 */
export class TcpGate extends LocalServer {
  readonly #passages = new Set<GatedConnection>();
  #isCut = false;

  /**
   * @param target port of the server
   * @param lag what the server says comes so many milliseconds later
   */
  private constructor(
    private target: number,
    private readonly lag: number,
  ) {
    super(net.createServer((client) => this.#accept(client)));
  }

  static start(target: number, { lag = 0 } = {}): Promise<TcpGate> {
    return new TcpGate(target, lag).listening();
  }

  /** Further connections go to another server. */
  lead(target: number): void {
    this.target = target;
  }

  cut(): void {
    this.#isCut = true;
    for (const passage of this.#passages) passage.pause();
  }

  /** The connections that there are carry nothing any more; further ones do. */
  strand(): void {
    for (const passage of this.#passages) passage.pause();
  }

  /** Of the connections that there are, the server hears all, and nobody hears the server. */
  loseAnswers(): void {
    for (const passage of this.#passages) passage.losesAnswers = true;
  }

  /** Ends the connections that there are. */
  end(): void {
    for (const passage of this.#passages) passage.destroy();
  }

  mend(): void {
    this.#isCut = false;
    for (const passage of this.#passages) passage.resume();
  }

  #accept(client: Socket): void {
    const passage = new GatedConnection(client, this.target, this.lag);
    this.#passages.add(passage);
    client.once('close', () => this.#passages.delete(passage));
    if (this.#isCut) passage.pause();
    else passage.resume();
  }
}

/** A connection of a client, and the one that it is passed on to once the gate is open. */
class GatedConnection {
  losesAnswers = false;
  #upstream: Socket | undefined;

  constructor(
    private readonly client: Socket,
    private readonly target: number,
    private readonly lag: number,
  ) {
    client.setNoDelay(true).pause();
    client.on('error', () => undefined);
    client.on('data', (piece: Buffer) => this.#upstream?.write(piece));
    client.on('close', () => this.#upstream?.destroy());
  }

  pause(): void {
    this.client.pause();
    this.#upstream?.pause();
  }

  resume(): void {
    this.#upstream ??= this.#connect();
    this.client.resume();
    this.#upstream.resume();
  }

  destroy(): void {
    this.client.destroy();
    this.#upstream?.destroy();
  }

  #connect(): Socket {
    const upstream = net.connect(this.target, '127.0.0.1').setNoDelay(true);
    upstream.on('error', () => this.client.resetAndDestroy());
    upstream.on('data', (piece: Buffer) => this.#answer(() => this.client.write(piece)));
    upstream.on('close', () => this.#answer(() => this.client.end()));
    return upstream;
  }

  #answer(pass: () => void): void {
    if (this.losesAnswers) return;
    if (this.lag === 0) pass();
    else setTimeout(pass, this.lag);
  }
}

/** Stands between a client and a server, passes all bytes on, and keeps those of the client. */
export class Wiretap extends LocalServer {
  readonly #heard: Buffer[] = [];

  private constructor(port: number) {
    super(net.createServer((client) => this.#tap(client, net.connect(port, '127.0.0.1'))));
  }

  /**
   * @param port of the server, on this machine
   * @param host where clients reach it
   */
  static start(port: number, host?: string): Promise<Wiretap> {
    return new Wiretap(port).listening(host);
  }

  /** All that clients have sent, one character a byte. */
  get heard(): string {
    return Buffer.concat(this.#heard).toString('latin1');
  }

  #tap(client: Socket, onward: Socket): void {
    client.on('data', (piece) => this.#heard.push(piece));
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    }
  }
}

/** A request that came in whole and was passed on. */
export interface ForwardedRequest {
  method: string;
  /** Path with query. */
  path: string;
  body: string;
  /** What the server answered; undefined until it has. */
  status: number | undefined;
  /** The body of the answer to a POST. */
  answer: string;
}

/** Stands between a client and an HTTP server, passes everything on, and notes the requests and the cookies that are set. */
export class RecordingForwarder extends LocalServer {
  readonly cookies: string[] = [];
  readonly requests: ForwardedRequest[] = [];
  readonly #agent = new http.Agent({ keepAlive: true });

  private constructor(private readonly target: URL) {
    super(http.createServer((req, res) => void this.#receive(req, res)));
  }

  static start(target: string): Promise<RecordingForwarder> {
    return new RecordingForwarder(new URL(target)).listening();
  }

  override async close(): Promise<void> {
    await super.close();
    this.#agent.destroy();
  }

  /** Only a request that has come to its end goes on: what was cut off on the way reaches the server not at all. */
  async #receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req).catch(() => undefined);
    if (body === undefined) return;
    const { hostname, port, host } = this.target;
    const { method = '', url: path = '' } = req;
    const noted: ForwardedRequest = { method, path, body: body.toString(), status: undefined, answer: '' };
    this.requests.push(noted);
    const headers = { ...req.headers, host };
    const onward = http.request({ hostname, port, path, method, headers, agent: this.#agent }, (answer) => {
      noted.status = answer.statusCode;
      if (method === 'POST') answer.on('data', (chunk: Buffer) => (noted.answer += chunk.toString()));
      for (const cookie of answer.headers['set-cookie'] ?? []) {
        const value = /^[^=]*=([^;]*)/.exec(cookie)?.[1] ?? '';
        if (value !== '') this.cookies.push(value);
      }
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    onward.end(body);
  }
}
