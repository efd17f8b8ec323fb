import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { withTimeout } from '../../../lib/concurrency/timers';
import type { Authority } from './authority';
import { untilListening } from './listening';
import { launch, PROXY_NAME, saveCertificate, type Kind } from './proxy-launch';
import { freePort } from '../node-red/node-red';

export interface ReverseProxyOptions {
  /** Port of Node-RED, or of a listener; of each instance before which it balances. */
  upstream: number | readonly number[];
  authority: Authority;
  /** Speaks HTTP/2 too, which the configurations do not. */
  http2?: boolean;
}

/**
 * A real reverse proxy, or balancer, on the loopback interface, with the configuration of docs/proxies. Only ports, the place of the
 * certificate and what belongs to the machine are others.
 */
export class ReverseProxy {
  log = '';

  private constructor(
    readonly kind: Kind,
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

  static async start(kind: Kind, options: ReverseProxyOptions): Promise<ReverseProxy> {
    const ports = { https: await freePort(), http: await freePort() };
    const folder = mkdtempSync(path.join(tmpdir(), 'reverse-proxy-'));
    // As root nginx works as another user, who has to get at its folders.
    chmodSync(folder, 0o755);
    saveCertificate(folder, options.authority.issueForServer(`DNS:${PROXY_NAME}`));
    const { upstream, http2 = false } = options;
    const child = launch(kind, { folder, ports, upstreams: [upstream].flat(), http2 });
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
   * @param how.patience milliseconds after which the sender gives up; by default it waits for the end
   */
  async exchange(
    request: string | Buffer,
    { plain = false, from = '127.0.0.1', ends = false, patience = Infinity } = {},
  ): Promise<string> {
    const place = { host: '127.0.0.1', localAddress: from, allowHalfOpen: true };
    const socket = net.connect({ ...place, port: plain ? this.httpPort : this.port });
    const stream = plain ? socket : tls.connect({ socket, servername: PROXY_NAME, ca: this.authority.cert });
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
