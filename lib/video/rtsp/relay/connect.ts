import net from 'node:net';
import tls from 'node:tls';
import type { Abort } from '../../../concurrency/signals';
import { lateTimeout } from '../../../concurrency/timers';
import { RvmError } from '../../../error';
import { tlsFault, tlsOptions, type TlsSettings } from '../../../tls';
import { connectWithOneBuffer } from './one-buffer';
import type { Address } from './resolve';

/** Milliseconds for one address where there are others. */
const ADDRESS_MS = 1_000;

export interface Way {
  host: string;
  port: number;
  isSecure: boolean;
  /** Where the name leads; it is not looked up again. Absent: wherever the system says. */
  addresses?: readonly Address[];
  /** Of the cloud. The certificate is judged by the host of the URL, not by the name that is set for the service. */
  tls?: TlsSettings | undefined;
  /** What errors call the relay. */
  name: string;
  /** Milliseconds until it is ready, encrypted where it is to be. */
  ms: number;
}

/** @throws RvmError NETWORK, TLS, TIMEOUT, CONFIG_MISSING for settings of TLS that cannot be used; the reason of the abort */
export async function connect(way: Way, ending?: Abort): Promise<net.Socket> {
  const deadline = performance.now() + way.ms;
  const socket = await ready(plainSocket(way), 'connect', { way, ms: way.ms, ending });
  socket.setNoDelay(true);
  if (!way.isSecure) return socket;
  const left = Math.max(0, deadline - performance.now());
  return ready(encrypted(way, socket), 'secureConnect', { way, ms: left, ending });
}

function plainSocket({ host, port, addresses, isSecure }: Way): net.Socket {
  const [first, second] = addresses ?? [];
  const open = isSecure ? net.connect : connectWithOneBuffer;
  if (first === undefined) return open({ host, port });
  if (second === undefined) return open({ host: first.address, port });
  return open({
    host,
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_MS,
    lookup: (_host, _options, found) => found(null, [...(addresses ?? [])]),
  });
}

function encrypted({ host, tls: settings }: Way, socket: net.Socket): tls.TLSSocket {
  const { servername: _ofTheService, ...options } = tlsOptions(settings);
  const name = host.replace(/\.$/, '');
  const servername = net.isIP(name) === 0 ? { servername: name } : {};
  return tls.connect({ ...options, ...servername, host: name, socket });
}

interface Wait {
  way: Way;
  ms: number;
  ending: Abort | undefined;
}

function ready<Kind extends net.Socket>(
  socket: Kind,
  event: string,
  { way, ms, ending }: Wait,
): Promise<Kind> {
  // Whoever has it next listens for its end; an error beside that must not end the process.
  socket.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    let stopListening = (): void => undefined;
    let isSettled = false;
    const settle = (error?: Error): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      stopListening();
      socket.off(event, onReady).off('error', onError).off('close', onClose);
      if (error === undefined) return resolve(socket);
      socket.destroy();
      reject(error);
    };
    const onReady = (): void => settle();
    const onError = (error: Error): void => settle(connectionFault(way, error));
    const onClose = (): void => settle(connectionFault(way, new Error('closed')));
    const timer = lateTimeout(() => settle(noAnswer(way)), ms);
    socket.once(event, onReady).once('error', onError).once('close', onClose);
    stopListening = ending?.onAbort(settle) ?? stopListening;
  });
}

function noAnswer({ name }: Way): RvmError {
  return new RvmError('TIMEOUT', `No answer from ${name}: a firewall may keep it from this machine.`);
}

function connectionFault(way: Way, error: Error): RvmError {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ETIMEDOUT') return noAnswer(way);
  const fault = way.isSecure ? tlsFault(code, error.message, 'relay') : undefined;
  if (fault !== undefined) return new RvmError('TLS', fault);
  const why = code === '' ? '' : ` (${code})`;
  return new RvmError('NETWORK', `No connection to ${way.name}${why}: a firewall may refuse this port.`);
}
