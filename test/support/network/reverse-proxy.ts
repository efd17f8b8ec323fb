import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import type { Authority, Issued } from './authority';
import { untilListening } from './listening';
import { freePort, ROOT } from '../node-red/node-red';
import { programPath } from '../suite/programs';

/** The name that the configurations in docs/proxies are for. */
export const PROXY_NAME = 'alarms.example.com';

/** Node-RED, as the configurations have it. */
const UPSTREAM = '127.0.0.1:1880';

export const PROXY_KINDS = ['nginx', 'caddy'] as const;
export type ProxyKind = (typeof PROXY_KINDS)[number];

export interface ReverseProxyOptions {
  /** Port of Node-RED, or of a listener. */
  upstream: number;
  authority: Authority;
  /** Speaks HTTP/2 too, which the configurations do not. */
  http2?: boolean;
}

/** The text of a configuration in docs/proxies. */
export function proxyConfiguration(file: string): string {
  return readFileSync(path.join(ROOT, 'docs', 'proxies', file), 'utf8');
}

/**
 * A real reverse proxy on the loopback interface, with the configuration of docs/proxies. Only ports, the place of the
 * certificate and what belongs to the machine are others.
 */
export class ReverseProxy {
  log = '';

  private constructor(
    readonly kind: ProxyKind,
    readonly port: number,
    readonly httpPort: number,
    private readonly folder: string,
    private readonly authority: Authority,
    private readonly child: ChildProcess,
  ) {
    for (const output of [child.stdout, child.stderr]) {
      output?.on('data', (piece: Buffer) => (this.log += piece.toString()));
    }
  }

  static async start(kind: ProxyKind, options: ReverseProxyOptions): Promise<ReverseProxy> {
    const ports = { https: await freePort(), http: await freePort() };
    const folder = mkdtempSync(path.join(tmpdir(), `${kind}-`));
    // As root nginx works as another user, who has to get at its folders.
    chmodSync(folder, 0o755);
    saveCertificate(folder, options.authority.issueForServer(`DNS:${PROXY_NAME}`));
    const child = LAUNCH[kind](folder, ports, options);
    const proxy = new ReverseProxy(kind, ports.https, ports.http, folder, options.authority, child);
    try {
      await proxy.#listening();
      return proxy;
    } catch (error) {
      await proxy.stop();
      throw error;
    }
  }

  /**
   * What a sender gets who writes these bytes: all of it, until the connection ends. Empty = no answer at all.
   * @param how.ends the sender ends its side of the connection behind them
   */
  async exchange(
    request: string | Buffer,
    { plain = false, from = '127.0.0.1', ends = false } = {},
  ): Promise<string> {
    const place = { host: '127.0.0.1', localAddress: from, allowHalfOpen: true };
    const socket = net.connect({ ...place, port: plain ? this.httpPort : this.port });
    const stream = plain ? socket : tls.connect({ socket, servername: PROXY_NAME, ca: this.authority.cert });
    let answer = '';
    stream.on('data', (piece: Buffer) => (answer += piece.toString()));
    try {
      await once(stream, plain ? 'connect' : 'secureConnect');
      stream[ends ? 'end' : 'write'](request);
      await once(stream, 'end');
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
      createConnection: () =>
        tls.connect({
          port: this.port,
          host: '127.0.0.1',
          servername: PROXY_NAME,
          ca: this.authority.cert,
          ALPNProtocols: ['h2'],
        }),
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
  async handshake(
    options: tls.ConnectionOptions = {},
  ): Promise<{ version: string | null; protocol: string | false | null; serial: string }> {
    const socket = tls.connect({
      port: this.port,
      host: '127.0.0.1',
      servername: PROXY_NAME,
      ca: this.authority.cert,
      ...options,
    });
    try {
      await once(socket, 'secureConnect');
      const { serialNumber: serial } = socket.getPeerCertificate();
      return { version: socket.getProtocol(), protocol: socket.alpnProtocol, serial };
    } finally {
      socket.destroy();
    }
  }

  /** Puts another certificate in place, as a renewal does. */
  renewCertificate(): void {
    saveCertificate(this.folder, this.authority.issueForServer(`DNS:${PROXY_NAME}`));
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      // Not SIGKILL: the workers of nginx would stay.
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  #listening(): Promise<void> {
    return untilListening(this.child, [this.port, this.httpPort], () => this.log);
  }
}

interface Ports {
  https: number;
  http: number;
}

const LAUNCH: Record<
  ProxyKind,
  (folder: string, ports: Ports, options: ReverseProxyOptions) => ChildProcess
> = {
  nginx(folder, ports, options) {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const file = write(folder, 'nginx.conf', options.upstream, [
      [`http {`, `http {\naccess_log ${folder}/access.log;\n${temporary.join('\n')}`],
      ['listen 443 ssl;', `listen 127.0.0.1:${ports.https} ssl${options.http2 ? ' http2' : ''};`],
      ['listen 80;', `listen 127.0.0.1:${ports.http};`],
      [`/etc/letsencrypt/live/${PROXY_NAME}/fullchain.pem`, `${folder}/cert.pem`],
      [`/etc/letsencrypt/live/${PROXY_NAME}/privkey.pem`, `${folder}/key.pem`],
    ]);
    const global = `daemon off; pid ${folder}/nginx.pid; lock_file ${folder}/nginx.lock;`;
    return run('nginx', folder, ['-p', folder, '-c', file, '-e', 'stderr', '-g', global]);
  },
  caddy(folder, ports, options) {
    const own = `admin off\nauto_https off\ndefault_bind 127.0.0.1\nhttps_port ${ports.https}\nhttp_port ${ports.http}`;
    const certificate = `tls ${folder}/cert.pem ${folder}/key.pem`;
    const file = write(folder, 'Caddyfile', options.upstream, [
      ['{\n', `{\n${own}\n`],
      [`\n${PROXY_NAME} {\n`, `\n${PROXY_NAME} {\n${certificate}\n`],
      ['protocols h1\n', `protocols h1${options.http2 ? ' h2' : ''}\n`],
    ]);
    return run('caddy', folder, ['run', '--config', file, '--adapter', 'caddyfile']);
  },
};

/** Writes the configuration of docs/proxies for another upstream and with these places changed; each of them has to be there. */
function write(
  folder: string,
  name: string,
  upstream: number,
  changes: [from: string, to: string][],
): string {
  const text = changes.reduce((changed, [from, to]) => {
    assert.ok(changed.includes(from), `docs/proxies/${name} has "${from}"`);
    return changed.replace(from, () => to);
  }, proxyConfiguration(name));
  assert.ok(text.includes(UPSTREAM), `docs/proxies/${name} has "${UPSTREAM}"`);
  const file = path.join(folder, name);
  writeFileSync(file, text.replaceAll(UPSTREAM, `127.0.0.1:${upstream}`));
  return file;
}

function run(kind: ProxyKind, folder: string, options: string[]): ChildProcess {
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return spawn(programPath(kind) ?? kind, options, {
    env: { ...process.env, ...home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function saveCertificate(folder: string, { cert, key }: Issued): void {
  writeFileSync(path.join(folder, 'cert.pem'), cert);
  writeFileSync(path.join(folder, 'key.pem'), key);
}
