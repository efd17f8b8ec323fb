import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';

/** What a sender described and sent over its connection. */
export interface PushedStream {
  sdp: string;
  /** In their order; channel 0 = RTP of the first track, 1 = its RTCP, 2 and 3 those of the second. */
  packets: { channel: number; bytes: Buffer }[];
}

const DOLLAR = 0x24;

/**
 * All that ffmpeg sends of an input, by RTSP (ANNOUNCE and RECORD) over TCP: an independent packetiser that loses nothing.
 * @throws Error with what ffmpeg said, where it fails
 */
export async function pushedStream(input: readonly string[]): Promise<PushedStream> {
  const stream: PushedStream = { sdp: '', packets: [] };
  const server = net.createServer((socket) => take(socket, stream)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  try {
    const output = ['-f', 'rtsp', '-rtsp_transport', 'tcp', `rtsp://127.0.0.1:${address.port}/a`];
    await ended('ffmpeg', ['-v', 'error', '-nostdin', ...input, ...output]);
    return stream;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Answers each request with yes, and keeps what stands between them. */
function take(socket: net.Socket, stream: PushedStream): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => {
    rest = Buffer.concat([rest, piece]);
    for (let end = endOfFirst(rest); end !== undefined; end = endOfFirst(rest)) {
      const first = rest.subarray(0, end);
      if (first[0] === DOLLAR) stream.packets.push({ channel: first.readUInt8(1), bytes: first.subarray(4) });
      else socket.write(answerTo(first.toString('latin1'), stream));
      rest = rest.subarray(end);
    }
  });
}

/** Undefined until it is whole. */
function endOfFirst(bytes: Buffer): number | undefined {
  const end = bytes[0] === DOLLAR ? endOfPacket(bytes) : endOfRequest(bytes);
  return end !== undefined && end <= bytes.length ? end : undefined;
}

function endOfPacket(bytes: Buffer): number | undefined {
  return bytes.length < 4 ? undefined : 4 + bytes.readUInt16BE(2);
}

function endOfRequest(bytes: Buffer): number | undefined {
  const head = bytes.indexOf('\r\n\r\n');
  const length = /^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, Math.max(head, 0)))?.[1] ?? '0';
  return head < 0 ? undefined : head + 4 + Number(length);
}

function answerTo(request: string, stream: PushedStream): string {
  const [head = '', body = ''] = request.split('\r\n\r\n');
  if (head.startsWith('ANNOUNCE')) stream.sdp = body;
  const kept = head.split('\r\n').filter((line) => /^(?:cseq|transport):/i.test(line));
  return ['RTSP/1.0 200 OK', ...kept, 'Session: 1', '', ''].join('\r\n');
}

/** @throws Error with what the program said, where it fails */
export async function ended(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`${program}: ${said}`);
}
