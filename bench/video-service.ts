import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { seededToken, seededUuid } from '../sandbox/world/seeded';

const NOWHERE = 'rtsp://relay.example:8554';

/** A camera of the service, as its events name it. */
export interface BenchCamera {
  id: string;
  remoteId: string;
}

interface Orders {
  cameras: number;
  /** The session is lost when so many RTSP sessions have been asked for. */
  lostAt: readonly number[];
  relay: string;
}

export interface VideoServiceOptions {
  cameras: number;
  /** The session is lost when so many RTSP sessions have been asked for. */
  lostAt?: readonly number[];
  /** Where the video of all cameras is, each by its remote id; nowhere unless said. */
  relay?: string;
}

/**
 * The service as light as it can be, so that its own work hides nothing of the client's, and in a process of its own: one
 * page of cameras that are all online, and a session cookie without which there is no video.
 */
export class VideoService {
  private constructor(
    readonly url: string,
    readonly cameras: readonly BenchCamera[],
    private readonly child: ChildProcess,
  ) {}

  static async start({ cameras, lostAt = [], relay = NOWHERE }: VideoServiceOptions): Promise<VideoService> {
    const orders: Orders = { cameras, lostAt, relay };
    const child = fork(__filename, [JSON.stringify(orders)], { execArgv: ['--import=tsx'] });
    const [port] = (await once(child, 'message')) as [number];
    return new VideoService(`http://127.0.0.1:${port}`, camerasOf(cameras), child);
  }

  /** HTTP requests so far, of all kinds. */
  async requests(): Promise<number> {
    this.child.send('requests');
    const [requests] = (await once(this.child, 'message')) as [number];
    return requests;
  }

  async stop(): Promise<void> {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

function camerasOf(count: number): BenchCamera[] {
  return Array.from({ length: count }, (_, index) => ({
    id: seededUuid(1, `bench ${index}`),
    remoteId: seededToken(2, `bench ${index}`),
  }));
}

function serve({ cameras, lostAt, relay }: Orders): void {
  const service = new Service(camerasOf(cameras), new Set(lostAt), relay);
  const server = createServer((req, res) => service.hear(req, res));
  process.on('message', () => process.send?.(service.requests));
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

class Service {
  requests = 0;
  #rtsp = 0;
  #logins = 0;
  /** The cookies of those who are logged in. */
  readonly #sessions = new Set<string>();
  readonly #devices: string;

  constructor(
    cameras: readonly BenchCamera[],
    private readonly lostAt: ReadonlySet<number>,
    private readonly relay: string,
  ) {
    this.#devices = JSON.stringify({ devices: cameras.map(record) });
  }

  hear(req: IncomingMessage, res: ServerResponse): void {
    this.requests += 1;
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => this.#answer(req, res, pieces));
  }

  #answer({ url = '', headers }: IncomingMessage, res: ServerResponse, pieces: readonly Buffer[]): void {
    const [, kind = '', id = ''] = url.split('/');
    if (kind === 'rtsp') this.#loseSession();
    const isIn = this.#sessions.has(headers.cookie ?? '');
    switch (kind) {
      case 'system':
        return this.#system(res, isIn);
      case 'login':
        return this.#logIn(res);
      case 'devices':
        return isIn ? send(res, 200, this.#devices) : send(res, 401, '{}');
      case 'sources':
        return isIn
          ? send(res, 200, JSON.stringify({ _links: { 'rel/rtsp': `/rtsp/${id}` } }))
          : send(res, 401, '{}');
      case 'rtsp':
        return isIn ? send(res, 200, relayed(this.relay, pieces)) : send(res, 401, '{}');
      default:
        return send(res, 404, '{}');
    }
  }

  #loseSession(): void {
    this.#rtsp += 1;
    if (this.lostAt.has(this.#rtsp)) this.#sessions.clear();
  }

  #logIn(res: ServerResponse): void {
    this.#logins += 1;
    const cookie = `sid=bench-${this.#logins}`;
    this.#sessions.add(cookie);
    send(res, 200, '{}', { 'Set-Cookie': `${cookie}; Path=/; HttpOnly` });
  }

  #system(res: ServerResponse, isIn: boolean): void {
    const links = isIn ? { 'rel/devices': '/devices' } : { 'rel/login': '/login' };
    send(res, 200, JSON.stringify({ _type: 'System', _links: links }), {
      'Content-Type': 'application/json; version=3',
    });
  }
}

/** The remote id comes back in the address, so that whoever asked can tell that it is the right one. */
function relayed(relay: string, pieces: readonly Buffer[]): string {
  const { cameraId } = JSON.parse(Buffer.concat(pieces).toString()) as { cameraId: string };
  return JSON.stringify({ rtspRelayURL: `${relay}/${cameraId}` });
}

function send(res: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  res.end(body);
}

function record({ id }: BenchCamera, index: number): object {
  return {
    id,
    name: `Camera ${index}`,
    siteName: `Site ${index % 20}`,
    status: 'online',
    _links: { 'rel/self': `/device/${id}`, 'rel/data_sources': `/sources/${id}` },
    _type: 'Device',
  };
}

if (require.main === module) serve(JSON.parse(process.argv[2] ?? '') as Orders);
