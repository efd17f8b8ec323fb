import net from 'node:net';
import tls from 'node:tls';
import { DIALECT } from '../cloud/dialect';
import { RvmError } from '../error';

/** What an RTSP server tells of a stream. */
export interface StreamDescription {
  /** Of its video, such as `H264`; empty where the description names none. */
  codecs: string[];
}

export interface DescribeOptions {
  /** Milliseconds for the connection, and again for the answer. */
  timeoutMs: number;
  /** Told once the connection stands, encrypted where the URL is `rtsps:`. */
  onConnected?: () => void;
}

/** Bytes of head and description: both are far shorter. */
const MOST = 64 * 1024;
const STATUS_LINE = /^RTSP\/\d\.\d (\d{3})/;

/**
 * Asks an RTSP server for the description of a stream, and for nothing else: the URL stays good for a player.
 * @throws RvmError NETWORK, TLS or TIMEOUT where there is no connection; HTTP_ERROR with the status of a refusal; BAD_RESPONSE
 *   for what is no RTSP. None of them has the URL in it.
 */
export async function describe(url: string, options: DescribeOptions): Promise<StreamDescription> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const at = { host, port: Number(port) || (DIALECT.rtsp.ports[protocol.slice(0, -1)] ?? 0) };
  const socket = await connected(protocol === 'rtsps:', at, options.timeoutMs);
  options.onConnected?.();
  try {
    socket.write(requestOf(url));
    return descriptionIn(await answerOf(socket, options.timeoutMs));
  } finally {
    socket.destroy();
  }
}

/** Without the login of the URL, which stands in no request line. */
function requestOf(url: string): string {
  const target = new URL(url);
  target.username = '';
  target.password = '';
  return `DESCRIBE ${target.href} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n`;
}

function connected(
  secure: boolean,
  { host, port }: { host: string; port: number },
  ms: number,
): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const servername = net.isIP(host) === 0 ? { servername: host } : {};
    const socket = secure ? tls.connect({ host, port, ...servername }) : net.connect({ host, port });
    const where = `${host}, port ${port}`;
    const fail = (error: NodeJS.ErrnoException): void => reject(connectionFault(where, secure, error));
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new RvmError('TIMEOUT', `${where} did not answer: a firewall may keep it from this machine.`));
    }, ms);
    socket.once('close', () => clearTimeout(timer)).once('error', fail);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}

function connectionFault(where: string, secure: boolean, { code, syscall }: NodeJS.ErrnoException): RvmError {
  const why = code ?? 'unknown fault';
  // What the system refuses has the name of its call.
  if (!secure || syscall !== undefined)
    return new RvmError('NETWORK', `No connection to ${where} (${why}): a firewall may refuse this port.`);
  return new RvmError('TLS', `The certificate of ${where} is not trusted (${why}).`);
}

/** Head and body, as far as the head says how long that is. */
function answerOf(socket: net.Socket, ms: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const noRtsp = (): void =>
      reject(new RvmError('BAD_RESPONSE', 'The relay answered with something else than RTSP.'));
    // In all: one that sends a byte now and then must not keep the connection.
    const timer = setTimeout(() => {
      reject(
        new RvmError('TIMEOUT', 'The relay took the connection, but did not describe the video in time.'),
      );
    }, ms);
    socket.on('error', noRtsp);
    socket.on('close', () => {
      clearTimeout(timer);
      noRtsp();
    });
    socket.on('data', (piece: Buffer) => {
      received += piece.toString('latin1');
      if (received.length > MOST) return noRtsp();
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/^content-length: *(\d+)/im.exec(received.slice(0, end))?.[1] ?? 0);
      if (received.length >= end + 4 + length) resolve(received);
    });
  });
}

function descriptionIn(answer: string): StreamDescription {
  const status = STATUS_LINE.exec(answer)?.[1];
  if (status === undefined)
    throw new RvmError('BAD_RESPONSE', 'The relay answered with something else than RTSP.');
  if (status !== '200') {
    throw new RvmError('HTTP_ERROR', `The relay answered ${status} to the request for the video.`, {
      status: Number(status),
    });
  }
  // As far as the next medium, which may be sound.
  const [video = ''] = /^m=video[^]*?(?=^m=|(?![^]))/m.exec(answer) ?? [];
  const codecs = [...video.matchAll(/^a=rtpmap:\d+ ([\w.+-]{1,32})\//gm)].map(([, name = '']) => name);
  return { codecs };
}
