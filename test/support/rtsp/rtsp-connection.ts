import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PATIENCE } from '../time/patience';

/** An RTSP answer as it came over the wire. */
export interface RtspAnswer {
  statusLine: string;
  status: number;
  headers: Map<string, string>;
  body: string;
}

/** Interleaved data: channel and packet. */
export interface ChannelData {
  channel: number;
  data: Buffer;
}

type Part = { answer: RtspAnswer } | { frame: ChannelData };

/** A raw RTSP connection for tests: sends what it is told, and gives back answers and packets one by one. */
export class TestRtspConnection {
  readonly socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  readonly #answers: RtspAnswer[] = [];
  readonly #frames: ChannelData[] = [];
  #closed = false;
  #error: Error | undefined;
  #wake: () => void = () => undefined;
  #cseq = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('close', () => {
      this.#closed = true;
      this.#wake();
    });
  }

  /** Connects to the host and port of an RTSP URL. */
  static async open(url: string): Promise<TestRtspConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port === '' ? '554' : port) });
    await once(socket, 'connect');
    return new TestRtspConnection(socket);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Why the connection ended, where it was not in order (`ECONNRESET`). */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Sends a request with the next `CSeq` and waits for its answer. */
  async request(
    method: string,
    url: string,
    headers: Record<string, string> = {},
    body = '',
  ): Promise<RtspAnswer> {
    this.send(method, url, headers, body);
    return this.answer();
  }

  /** Sends a request with the next `CSeq`; returns that number. */
  send(method: string, url: string, headers: Record<string, string> = {}, body = ''): number {
    this.#cseq++;
    const length: Record<string, string> =
      body === '' ? {} : { 'Content-Length': `${Buffer.byteLength(body)}` };
    const lines = Object.entries({ CSeq: `${this.#cseq}`, ...headers, ...length });
    const fields = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    this.socket.write(`${method} ${url} RTSP/1.0\r\n${fields}\r\n${body}`);
    return this.#cseq;
  }

  /** The next answer. */
  answer(timeoutMs = PATIENCE): Promise<RtspAnswer> {
    return this.#next(this.#answers, 'answer', timeoutMs);
  }

  /** The next interleaved packet. */
  frame(timeoutMs = PATIENCE): Promise<ChannelData> {
    return this.#next(this.#frames, 'packet', timeoutMs);
  }

  /** Packets that have arrived and were not taken yet. */
  get waitingFrames(): number {
    return this.#frames.length;
  }

  /** Resolves when the connection has ended, in order or not. */
  async closing(timeoutMs = PATIENCE): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs);
    while (!this.#closed) {
      if (deadline.aborted) throw new Error(`The connection is still open after ${timeoutMs} ms.`);
      await this.#somethingNew(deadline);
    }
  }

  close(): void {
    this.socket.destroy();
  }

  async #next<T>(queue: T[], what: string, timeoutMs: number): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutMs);
    while (queue.length === 0) {
      if (this.#closed) throw new Error(`The connection ended while a test waited for an ${what}.`);
      if (deadline.aborted) throw new Error(`No ${what} within ${timeoutMs} ms.`);
      await this.#somethingNew(deadline);
    }
    const [first] = queue.splice(0, 1);
    if (first === undefined) throw new Error(`No ${what}.`);
    return first;
  }

  #somethingNew(deadline: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        deadline.removeEventListener('abort', done);
        resolve();
      };
      this.#wake = done;
      deadline.addEventListener('abort', done);
    });
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (let part = this.#cut(); part !== undefined; part = this.#cut()) {
      if ('answer' in part) this.#answers.push(part.answer);
      else this.#frames.push(part.frame);
    }
    this.#wake();
  }

  #cut(): Part | undefined {
    if (this.#received.length < 4) return undefined;
    return this.#received[0] === 0x24 ? this.#cutFrame() : this.#cutAnswer();
  }

  #cutFrame(): Part | undefined {
    const end = 4 + this.#received.readUInt16BE(2);
    if (this.#received.length < end) return undefined;
    const frame = { channel: this.#received.readUInt8(1), data: this.#received.subarray(4, end) };
    this.#received = this.#received.subarray(end);
    return { frame };
  }

  #cutAnswer(): Part | undefined {
    const headerEnd = this.#received.indexOf('\r\n\r\n');
    if (headerEnd < 0) return undefined;
    const [statusLine = '', ...lines] = this.#received.toString('utf8', 0, headerEnd).split('\r\n');
    const headers = new Map(lines.map((line) => splitField(line)));
    const end = headerEnd + 4 + Number(headers.get('content-length') ?? '0');
    if (this.#received.length < end) return undefined;
    const body = this.#received.toString('utf8', headerEnd + 4, end);
    this.#received = this.#received.subarray(end);
    return { answer: { statusLine, status: Number(statusLine.split(' ')[1]), headers, body } };
  }
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
