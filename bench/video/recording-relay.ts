import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { RATE } from './recording';
import { CLOCK_RATE, packetised, PAYLOAD_TYPE, type PacketisedRecording } from './recording-packets';

interface Orders {
  file: string;
  /** How often as fast as it was recorded. */
  speed: number;
}

const METHODS = 'OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN';

/**
 * A relay as light as it can be, so that its own work hides nothing of the client's, and in a process of its own: to each session
 * it sends the same recording from its beginning, as fast as it was recorded. At its end it falls silent.
 */
export class RecordingRelay {
  private constructor(
    /** Whatever path follows, it is this recording. */
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(file: string, speed = 1): Promise<RecordingRelay> {
    const orders: Orders = { file, speed };
    const child = fork(__filename, [JSON.stringify(orders)], { execArgv: ['--import=tsx'] });
    const [port] = (await once(child, 'message')) as [number];
    return new RecordingRelay(`rtsp://127.0.0.1:${port}`, child);
  }

  async stop(): Promise<void> {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

function serve({ file, speed }: Orders): void {
  const recording = packetised(fs.readFileSync(file), RATE);
  const server = net.createServer((socket) => new Session(socket, recording, speed));
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

class Session {
  #received = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: net.Socket,
    private readonly recording: PacketisedRecording,
    private readonly speed: number,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#take(chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => clearTimeout(this.#timer));
  }

  #take(text: string): void {
    this.#received += text;
    while (this.#takeOne());
  }

  #takeOne(): boolean {
    if (this.#received.startsWith('$')) return this.#skipPacket();
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const head = this.#received.slice(0, end);
    this.#received = this.#received.slice(end + 4);
    this.#answer(head);
    return true;
  }

  /** What a client reports of the packets. */
  #skipPacket(): boolean {
    const length = 4 + this.#received.charCodeAt(2) * 256 + this.#received.charCodeAt(3);
    if (!(this.#received.length >= length)) return false;
    this.#received = this.#received.slice(length);
    return true;
  }

  #answer(head: string): void {
    const [method = '', url = ''] = head.split(' ');
    const number = /^cseq: *(\d+)/im.exec(head)?.[1] ?? '';
    const [headers, body = ''] = this.#answerTo(method, url);
    const length = body === '' ? [] : [`Content-Length: ${body.length}`];
    const lines = ['RTSP/1.0 200 OK', `CSeq: ${number}`, ...headers, ...length];
    this.socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
    if (method === 'PLAY') this.#play();
    if (method === 'TEARDOWN') this.socket.end();
  }

  #answerTo(method: string, url: string): [headers: string[], body?: string] {
    const session = 'Session: bench;timeout=60';
    switch (method) {
      case 'OPTIONS':
        return [[`Public: ${METHODS}`]];
      case 'DESCRIBE':
        return [['Content-Type: application/sdp', `Content-Base: ${url}/`], this.#description()];
      case 'SETUP':
        return [[session, 'Transport: RTP/AVP/TCP;unicast;interleaved=0-1']];
      case 'PLAY':
        return [[session, 'Range: npt=0-', `RTP-Info: url=${url}/track1;seq=0;rtptime=0`]];
      default:
        return [[session]];
    }
  }

  #description(): string {
    const { sps, pps } = this.recording;
    const sets = [sps, pps].map((set) => set.toString('base64')).join(',');
    const profile = sps.toString('hex', 1, 4);
    const lines = [
      'v=0',
      'o=- 1 1 IN IP4 127.0.0.1',
      's=bench',
      't=0 0',
      'a=control:*',
      `m=video 0 RTP/AVP ${PAYLOAD_TYPE}`,
      `a=rtpmap:${PAYLOAD_TYPE} H264/${CLOCK_RATE}`,
      `a=fmtp:${PAYLOAD_TYPE} packetization-mode=1;profile-level-id=${profile};sprop-parameter-sets=${sets}`,
      'a=control:track1',
    ];
    return `${lines.join('\r\n')}\r\n`;
  }

  #play(): void {
    const { pictures } = this.recording;
    const interval = 1000 / (RATE * this.speed);
    const from = performance.now();
    let sent = 0;
    const send = (): void => {
      const due = (performance.now() - from) / interval;
      for (; sent <= due && sent < pictures.length; sent += 1) this.socket.write(pictures[sent] ?? '');
      if (sent < pictures.length)
        this.#timer = setTimeout(send, Math.max(0, from + sent * interval - performance.now()));
    };
    send();
  }
}

if (require.main === module) serve(JSON.parse(process.argv[2] ?? '') as Orders);
