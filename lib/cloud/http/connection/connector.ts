import { buildConnector } from 'undici';
import { ProxyFault } from './proxy-fault';
import type { Proxy } from './proxy-settings';
import type { TlsOptions } from '../../../tls';

type Connector = buildConnector.connector;

/**
 * Connects to the service.
 * @param timeoutMs until the TLS handshake is over
 */
export function connector(tls: TlsOptions, timeoutMs: number): Connector {
  // One request at a time on each connection: the limits and the order of requests count on it.
  const connect = buildConnector({ ...tls, timeout: timeoutMs, allowH2: false });
  return (target, callback) => {
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      // From TLS 1.3 on a refused certificate of ours shows only after the handshake: an alert, and at once the end of
      // the connection. Without this the end would be reported in place of the reason.
      socket.once('error', (fault) => socket.destroy(fault));
      callback(null, socket);
    });
  };
}

/** Connects to a proxy, which the certificate authorities of this machine vouch for. */
export function proxyConnector(proxy: Proxy, timeoutMs: number): Connector {
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false });
  return ({ servername: _ofTheService, ...target }, callback) => {
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else callback(ProxyFault.from(proxy, error), null);
    });
  };
}
