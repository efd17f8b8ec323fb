import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { connector } from './connector';
import { ProxyFault } from './proxy-fault';
import type { Proxy } from './proxy-settings';
import type { TlsOptions } from '../../../tls';

interface TunnelOptions {
  proxy: Proxy;
  tls: TlsOptions;
  /** Milliseconds for all of it: to the proxy, its answer, and the TLS handshake with the service. */
  timeoutMs: number;
  /** Ends what is under way. */
  closing: AbortSignal;
}

/**
 * Connects to the service through a proxy: CONNECT (RFC 9110, section 9.3.6), then TLS with the service itself. The proxy
 * sees name and port, and neither key nor cookie.
 */
export function tunnelConnector(options: TunnelOptions): buildConnector.connector {
  return (target, callback) => {
    const startedAt = performance.now();
    openTunnel(options, `${hostOf(target)}:${target.port || '443'}`).then(
      (socket) => {
        const left = Math.max(1, options.timeoutMs - (performance.now() - startedAt));
        secure({ ...options, timeoutMs: left }, { ...target, httpSocket: socket }, callback);
      },
      (error: Error) => callback(error, null),
    );
  };
}

function secure(
  { tls, timeoutMs, closing }: TunnelOptions,
  target: buildConnector.Options & { httpSocket: Socket },
  callback: buildConnector.Callback,
): void {
  const end = (): void => void target.httpSocket.destroy();
  closing.addEventListener('abort', end);
  connector(tls, timeoutMs)(target, (...result) => {
    closing.removeEventListener('abort', end);
    if (result[0] !== null) end();
    callback(...result);
  });
}

function openTunnel({ proxy, timeoutMs, closing }: TunnelOptions, authority: string): Promise<Socket> {
  const { request } = proxy.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const asked = request({
      method: 'CONNECT',
      host: proxy.hostname,
      port: proxy.port,
      path: authority,
      agent: false,
      headers: {
        Host: authority,
        Connection: 'keep-alive',
        ...(proxy.authorization === undefined ? {} : { 'Proxy-Authorization': proxy.authorization }),
      },
    });
    const timedOut = (): void =>
      void asked.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(timedOut, timeoutMs);
    const end = (): void => void asked.destroy();
    closing.addEventListener('abort', end);
    const settled = (): void => {
      clearTimeout(timer);
      closing.removeEventListener('abort', end);
    };
    asked.once('error', (error) => {
      settled();
      reject(ProxyFault.from(proxy, error));
    });
    asked.once('connect', (answer, socket: Socket, head) => {
      settled();
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status < 300) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new ProxyFault(proxy, { status }));
    });
    asked.end();
  });
}

function hostOf({ hostname }: buildConnector.Options): string {
  return hostname.includes(':') ? `[${hostname}]` : hostname;
}
