import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { withTimeout } from '../../../lib/concurrency/timers';
import { freePort, ROOT } from '../node-red/node-red';
import { type Program, programPath } from '../suite/programs';
import { temporaryFolder } from '../suite/temporary-folder';
import type { Authority, Issued } from './certificates';
import { endProcess, LocalServer, untilListening } from './servers';

/** What an instance got that was posted to it. */
interface Posted {
  path: string;
  authorization: string | undefined;
  body: Buffer;
}

/** What it does with a message: answers with a status, ends the connection, or says nothing. */
export type Conduct = number | 'cuts' | 'is silent';

/** A server in the place of Node-RED behind a balancer, which is ready, or not, and conducts itself as it is told. */
export class BalancedInstance extends LocalServer {
  readonly posted: Posted[] = [];
  /** The pages that somebody has asked for, by method and path. */
  readonly pages: string[] = [];
  /** What it answers to those who ask for a page. */
  pageStatus = 200;
  isReady = true;
  conduct: Conduct = 200;
  /** How often it was asked whether it is ready. */
  checks = 0;
  /** Ends the stream that is open: the answer to who asks for one. */
  endStream: () => void = () => undefined;

  private constructor() {
    super(http.createServer((req, res) => void this.#answer(req, res)));
  }

  static start(): Promise<BalancedInstance> {
    return new BalancedInstance().listening();
  }

  async #answer(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    if (req.method !== 'POST') {
      this.#show(req.method ?? '', req.url ?? '', res);
      return;
    }
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece as Buffer);
    const { authorization } = req.headers;
    this.posted.push({ path: req.url ?? '', authorization, body: Buffer.concat(pieces) });
    if (this.conduct === 'cuts') req.socket.destroy();
    else if (this.conduct !== 'is silent') res.writeHead(this.conduct).end('{"ok":true}');
  }

  #show(method: string, path: string, res: http.ServerResponse): void {
    if (path === '/remote-monitoring/ready') {
      this.checks += 1;
      res.writeHead(this.isReady ? 200 : 503).end('{}');
      return;
    }
    this.pages.push(`${method} ${path}`);
    res.writeHead(this.pageStatus);
    if (path.endsWith('/stream')) {
      res.write('the first piece');
      this.endStream = () => res.end();
    } else res.end('a page');
  }
}

/** The name that the configurations in docs/proxies are for. */
export const PROXY_NAME = 'alarms.example.com';

export interface Head {
  method?: string;
  host?: string;
  further?: readonly string[];
}

/** The bytes of a request that ends its connection. */
export function requestTo(
  target: string,
  body = '',
  { method = 'POST', host = PROXY_NAME, further = [] }: Head = {},
): string {
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...further];
  return [...lines, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
}

/** NaN = there was no answer. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
}

/** Proxies before one Node-RED, and balancers before several; with their program, and the file of their configuration. */
const KINDS = {
  nginx: { program: 'nginx', file: 'nginx.conf' },
  caddy: { program: 'caddy', file: 'Caddyfile' },
  'nginx before several': { program: 'nginx', file: 'nginx-several.conf' },
  'HAProxy before several': { program: 'haproxy', file: 'haproxy-several.cfg' },
} as const satisfies Record<string, { program: Program; file: string }>;
type Kind = keyof typeof KINDS;

export const PROXY_KINDS = ['nginx', 'caddy'] as const;
export type ProxyKind = (typeof PROXY_KINDS)[number];
export const BALANCER_KINDS = ['nginx before several', 'HAProxy before several'] as const;
export type BalancerKind = (typeof BALANCER_KINDS)[number];

/** Node-RED, as the configurations have it. */
const ONE = ['127.0.0.1:1880'];
const SEVERAL = ['192.0.2.11:1880', '192.0.2.12:1880'];

interface Launch {
  /** What the proxy has for itself: its configuration and certificate are there. */
  folder: string;
  ports: { https: number; http: number };
  /** Ports of Node-RED, or of listeners: as many as the configuration has addresses, or more where it has several. */
  upstreams: readonly number[];
  /** Speaks HTTP/2 too, which the configurations do not. */
  http2: boolean;
}

export const programOf = (kind: Kind): Program => KINDS[kind].program;

/** The text of a configuration in docs/proxies. */
export const proxyConfiguration = (file: string): string =>
  readFileSync(path.join(ROOT, 'docs', 'proxies', file), 'utf8');

/** Puts a certificate where the proxies look for it. */
function saveCertificate(folder: string, { cert, key }: Issued): void {
  writeFileSync(path.join(folder, 'cert.pem'), cert);
  writeFileSync(path.join(folder, 'key.pem'), key);
  writeFileSync(path.join(folder, 'both.pem'), cert + key);
}

type Change = [from: string, to: string];

const LAUNCH = {
  nginx(name: string, options: Launch): ChildProcess {
    const { folder, ports, http2 } = options;
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (each) => `${each}_temp_path ${folder}/${each};`,
    );
    const file = write(name, options, [
      [`http {`, `http {\naccess_log ${folder}/access.log;\n${temporary.join('\n')}`],
      ['listen 443 ssl;', `listen 127.0.0.1:${ports.https} ssl${http2 ? ' http2' : ''};`],
      ['listen 80;', `listen 127.0.0.1:${ports.http};`],
      [`/etc/letsencrypt/live/${PROXY_NAME}/fullchain.pem`, `${folder}/cert.pem`],
      [`/etc/letsencrypt/live/${PROXY_NAME}/privkey.pem`, `${folder}/key.pem`],
    ]);
    const global = `daemon off; pid ${folder}/nginx.pid; lock_file ${folder}/nginx.lock;`;
    return run('nginx', folder, ['-p', folder, '-c', file, '-e', 'stderr', '-g', global]);
  },
  caddy(name: string, options: Launch): ChildProcess {
    const { folder, ports, http2 } = options;
    const own = `admin off\nauto_https off\ndefault_bind 127.0.0.1\nhttps_port ${ports.https}\nhttp_port ${ports.http}`;
    const certificate = `tls ${folder}/cert.pem ${folder}/key.pem`;
    const file = write(name, options, [
      ['{\n', `{\n${own}\n`],
      [`\n${PROXY_NAME} {\n`, `\n${PROXY_NAME} {\n${certificate}\n`],
      ['protocols h1\n', `protocols h1${http2 ? ' h2' : ''}\n`],
    ]);
    return run('caddy', folder, ['run', '--config', file, '--adapter', 'caddyfile']);
  },
  haproxy(name: string, options: Launch): ChildProcess {
    const { folder, ports } = options;
    const file = write(name, options, [
      ['bind :443 ssl', `bind 127.0.0.1:${ports.https} ssl`],
      ['bind :80', `bind 127.0.0.1:${ports.http}`],
      [`/etc/haproxy/${PROXY_NAME}.pem`, `${folder}/both.pem`],
    ]);
    // In one process that stays in front.
    return run('haproxy', folder, ['-db', '-f', file]);
  },
};

/** Writes the configuration of docs/proxies for other upstreams and with these places changed; each of them has to be there. */
function write(name: string, { folder, upstreams }: Launch, changes: readonly Change[]): string {
  const known = upstreams.length > 1 ? SEVERAL : ONE;
  const places = known.map((place, index): Change => [place, `127.0.0.1:${upstreams[index]}`]);
  let text = proxyConfiguration(name);
  for (const change of [...changes, ...places]) {
    const [from, to] = change;
    assert.ok(text.includes(from), `docs/proxies/${name} has "${from}"`);
    text = places.includes(change) ? text.replaceAll(from, to) : text.replace(from, () => to);
  }
  // One more instance of nginx, as the last one is.
  const [, last = ''] = places.at(-1) ?? [];
  const further = (line: string, port: number): string => line + line.replace(last, `127.0.0.1:${port}`);
  for (const port of upstreams.slice(known.length))
    text = text.replace(new RegExp(`^.*${last}.*\n`, 'm'), (line) => further(line, port));
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

function run(program: Program, folder: string, options: string[]): ChildProcess {
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return spawn(programPath(program) ?? program, options, {
    env: { ...process.env, ...home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

interface ReverseProxyOptions {
  /** Port of Node-RED, or of a listener; of each instance before which it balances. */
  upstream: number | readonly number[];
  authority: Authority;
  /** Speaks HTTP/2 too, which the configurations do not. */
  http2?: boolean;
}

/** A proxy that runs, with a folder of its own. */
class ProxyProcess {
  log = '';

  protected constructor(
    readonly folder: string,
    readonly child: ChildProcess,
    private readonly ports: readonly number[],
  ) {
    for (const output of [child.stdout, child.stderr])
      output?.on('data', (piece: Buffer) => (this.log += piece.toString()));
  }

  /** By default not killed outright: the workers of nginx would stay. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    return endProcess(this.child, signal);
  }

  /** Resolves when it listens; one that does not is stopped. */
  protected async listening(): Promise<this> {
    try {
      await untilListening(this.child, this.ports, () => this.log);
      return this;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }
}

/**
 * A real reverse proxy, or balancer, on the loopback interface, with the configuration of docs/proxies. Only ports, the place of the
 * certificate and what belongs to the machine are others.
 */
export class ReverseProxy extends ProxyProcess {
  private constructor(
    folder: string,
    child: ChildProcess,
    readonly port: number,
    readonly httpPort: number,
    private readonly authority: Authority,
  ) {
    super(folder, child, [port, httpPort]);
  }

  static async start(kind: Kind, options: ReverseProxyOptions): Promise<ReverseProxy> {
    const ports = { https: await freePort(), http: await freePort() };
    const folder = temporaryFolder('reverse-proxy');
    // As root nginx works as another user, who has to get at its folders.
    chmodSync(folder, 0o755);
    saveCertificate(folder, options.authority.issueForServer(`DNS:${PROXY_NAME}`));
    const { upstream, http2 = false } = options;
    const { program, file } = KINDS[kind];
    const child = LAUNCH[program](file, { folder, ports, upstreams: [upstream].flat(), http2 });
    return new ReverseProxy(folder, child, ports.https, ports.http, options.authority).listening();
  }

  /**
   * What a sender gets who writes these bytes: all of it, until the connection ends. Empty = no answer at all.
   * @param how.ends the sender ends its side of the connection behind them
   * @param how.patience milliseconds after which the sender gives up; by default it waits for the end
   */
  async exchange(
    request: string | Buffer,
    { plain = false, from = '127.0.0.1', ends = false, patience = Infinity } = {},
  ): Promise<string> {
    const place = { host: '127.0.0.1', localAddress: from, allowHalfOpen: true };
    const socket = net.connect({ ...place, port: plain ? this.httpPort : this.port });
    const stream = plain ? socket : this.#connect({ socket });
    let answer = '';
    stream.on('data', (piece: Buffer) => (answer += piece.toString()));
    try {
      await once(stream, plain ? 'connect' : 'secureConnect');
      stream[ends ? 'end' : 'write'](request);
      const end = once(stream, 'end');
      await (patience === Infinity ? end : withTimeout(end, patience));
    } catch (error) {
      // A reset is one way to cut; a certificate that does not hold is none.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    } finally {
      stream.destroy();
      socket.destroy();
    }
    return answer;
  }

  /** Status by HTTP/2, or the error of the stream where it was cut. */
  async exchangeByHttp2(target: string, body: string): Promise<number | string> {
    const session = http2.connect(`https://${PROXY_NAME}:${this.port}`, {
      createConnection: () => this.#connect({ ALPNProtocols: ['h2'] }),
    });
    try {
      return await new Promise((resolve, reject) => {
        session.once('error', reject);
        const stream = session.request({ ':method': 'POST', ':path': target });
        stream.once('response', (headers) => resolve(headers[':status'] ?? 0));
        stream.once('error', (error: Error) => resolve(error.message));
        stream.end(body);
      });
    } finally {
      session.destroy();
    }
  }

  /** What a sender and the proxy agree on: version of TLS and protocol. */
  async handshake(options: tls.ConnectionOptions = {}) {
    const socket = this.#connect(options);
    try {
      await once(socket, 'secureConnect');
      const { serialNumber: serial } = socket.getPeerCertificate();
      return { version: socket.getProtocol(), protocol: socket.alpnProtocol, serial };
    } finally {
      socket.destroy();
    }
  }

  /** Puts another certificate in place, and tells the proxy of it, as a renewal does. */
  renewCertificate(): void {
    saveCertificate(this.folder, this.authority.issueForServer(`DNS:${PROXY_NAME}`));
    this.child.kill('SIGHUP');
  }

  #connect(options: tls.ConnectionOptions): tls.TLSSocket {
    const place = { port: this.port, host: '127.0.0.1', servername: PROXY_NAME, ca: this.authority.cert };
    return tls.connect({ ...place, ...options });
  }
}

/**
 * A forward proxy as administrators install it, on the loopback interface. It logs names and ports of CONNECT, and whole addresses of
 * other requests.
 */
export class Tinyproxy extends ProxyProcess {
  private constructor(
    folder: string,
    child: ChildProcess,
    readonly port: number,
  ) {
    super(folder, child, [port]);
  }

  /** @param settings further lines of its configuration, such as `BasicAuth user password` */
  static async start(...settings: string[]): Promise<Tinyproxy> {
    const port = await freePort();
    const folder = temporaryFolder('tinyproxy');
    const file = path.join(folder, 'tinyproxy.conf');
    const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Allow 127.0.0.1', 'LogLevel Info', 'Timeout 60'];
    writeFileSync(file, [...lines, ...settings, ''].join('\n'));
    return new Tinyproxy(folder, run('tinyproxy', folder, ['-d', '-c', file]), port).listening();
  }

  override stop(): Promise<void> {
    return super.stop('SIGKILL');
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How often the log says that something was asked for. */
  count(text: string): number {
    return this.log.split('\n').filter((line) => line.includes('Request') && line.includes(text)).length;
  }
}
