import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PATIENCE } from '../time/patience';

/** One picture as received: NAL units without start codes. */
export interface ReceivedPicture {
  nals: Buffer[];
  key: boolean;
  timestamp: number;
  /** Sequence number of its first packet. */
  sequence: number;
}

/** Puts RTP packets with H.264 (RFC 6184: single NAL units, STAP-A, FU-A) together to pictures. */
export class PictureAssembler {
  #nals: Buffer[] = [];
  #pieces: Buffer[] = [];
  #firstSequence: number | undefined;

  /** The picture that this packet completes, if it does. */
  add(packet: Buffer): ReceivedPicture | undefined {
    this.#firstSequence ??= packet.readUInt16BE(2);
    this.#unpack(packet.subarray(12));
    if ((packet.readUInt8(1) & 0x80) === 0) return undefined;
    const picture = {
      nals: this.#nals,
      key: this.#nals.some((nal) => typeOf(nal) === 5),
      timestamp: packet.readUInt32BE(4),
      sequence: this.#firstSequence,
    };
    this.#nals = [];
    this.#firstSequence = undefined;
    return picture;
  }

  #unpack(payload: Buffer): void {
    const type = typeOf(payload);
    if (type === 28) this.#addPiece(payload);
    else if (type === 24) this.#addAggregate(payload.subarray(1));
    else this.#nals.push(payload);
  }

  #addPiece(payload: Buffer): void {
    const header = payload.readUInt8(1);
    if ((header & 0x80) !== 0)
      this.#pieces = [Buffer.from([(payload.readUInt8(0) & 0xe0) | (header & 0x1f)])];
    this.#pieces.push(payload.subarray(2));
    if ((header & 0x40) !== 0) this.#nals.push(Buffer.concat(this.#pieces));
  }

  #addAggregate(rest: Buffer): void {
    for (let at = 0; at + 2 <= rest.length;) {
      const size = rest.readUInt16BE(at);
      this.#nals.push(rest.subarray(at + 2, at + 2 + size));
      at += 2 + size;
    }
  }
}

function typeOf(nal: Buffer): number {
  return (nal[0] ?? 0) & 0x1f;
}

/** The server refused a request of the player. */
export class RtspStatusError extends Error {
  constructor(
    readonly method: string,
    readonly status: number,
  ) {
    super(`${method} was answered ${status}`);
  }
}

interface ReceiveOptions {
  /** How many pictures to wait for. */
  pictures: number;
  /** `Range` of PLAY; none unless said. */
  range?: string;
}

export interface Reception {
  /** Fewer than wanted where the stream ended before. */
  pictures: ReceivedPicture[];
  sdp: string;
  /** `Range` and `RTP-Info` of the answer to PLAY. */
  range: string;
  rtpInfo: string;
}

/**
 * Plays an RTSP URL over TCP as a player does, takes pictures, and ends the session with TEARDOWN.
 * Throws RtspStatusError where the server refuses a step.
 */
export async function receivePictures(url: string, options: ReceiveOptions): Promise<Reception> {
  const player = await RtspPlayer.open(url);
  try {
    const sdp = await player.describe();
    await player.setup();
    const played = await player.play(options.range);
    const pictures = await player.pictures(options.pictures);
    await player.teardown();
    return {
      pictures,
      sdp,
      range: played.headers.get('range') ?? '',
      rtpInfo: played.headers.get('rtp-info') ?? '',
    };
  } finally {
    player.close();
  }
}

/** A player step by step, over one TCP connection with interleaved data. */
export class RtspPlayer {
  session = '';
  /** Packets of the RTCP channel so far. */
  readonly reports: Buffer[] = [];
  readonly packets: Buffer[] = [];
  /** The same of the sound, where that was set up. */
  readonly soundPackets: Buffer[] = [];
  readonly soundReports: Buffer[] = [];
  readonly #assembler = new PictureAssembler();
  #base: string;
  #track: string;
  #soundTrack: string;

  private constructor(
    readonly connection: TestRtspConnection,
    readonly url: string,
  ) {
    [this.#base, this.#track, this.#soundTrack] = [url, url, url];
  }

  static async open(url: string): Promise<RtspPlayer> {
    return new RtspPlayer(await TestRtspConnection.open(url), url);
  }

  /** Asks for the description and remembers where the track is; returns the description. */
  async describe(): Promise<string> {
    const answer = await this.#ask('DESCRIBE', this.url, { Accept: 'application/sdp' });
    this.#base = answer.headers.get('content-base') ?? this.url;
    this.#track = this.#controlOf('video', answer.body);
    this.#soundTrack = this.#controlOf('audio', answer.body);
    return answer.body;
  }

  async setup(transport = 'RTP/AVP/TCP;unicast;interleaved=0-1'): Promise<RtspAnswer> {
    const answer = await this.#ask('SETUP', this.#track, { Transport: transport });
    this.session = (answer.headers.get('session') ?? '').split(';')[0] ?? '';
    return answer;
  }

  /** Adds the sound to the session, on channels 2 and 3. */
  setupSound(): Promise<RtspAnswer> {
    return this.#ask('SETUP', this.#soundTrack, { Transport: 'RTP/AVP/TCP;unicast;interleaved=2-3' });
  }

  play(range?: string): Promise<RtspAnswer> {
    return this.#ask('PLAY', this.#base, range === undefined ? {} : { Range: range });
  }

  pause(): Promise<RtspAnswer> {
    return this.#ask('PAUSE', this.#base);
  }

  async teardown(): Promise<void> {
    await this.#ask('TEARDOWN', this.#base);
  }

  /** The next pictures; fewer where the stream ends (BYE or end of the connection) before. */
  async pictures(count: number): Promise<ReceivedPicture[]> {
    const pictures: ReceivedPicture[] = [];
    while (pictures.length < count) {
      const packet = await this.packet();
      if (packet === undefined) break;
      const picture = this.#assembler.add(packet.data);
      if (picture !== undefined) pictures.push(picture);
    }
    return pictures;
  }

  /** The next RTP packet; undefined at the end of the stream. */
  async packet(timeoutMs = PATIENCE): Promise<ChannelData | undefined> {
    while (!this.connection.closed || this.connection.waitingFrames > 0) {
      const frame = await this.#frame(timeoutMs);
      if (frame === undefined) return undefined;
      if (frame.channel === 0) {
        this.packets.push(frame.data);
        return frame;
      }
      if (frame.channel === 2) this.soundPackets.push(frame.data);
      else if (frame.channel === 3) this.soundReports.push(frame.data);
      if (frame.channel !== 1) continue;
      this.reports.push(frame.data);
      if (reportTypes(frame.data).includes(203)) return undefined;
    }
    return undefined;
  }

  close(): void {
    this.connection.close();
  }

  #controlOf(medium: 'video' | 'audio', description: string): string {
    const control = new RegExp(`^m=${medium}[^]*?^a=control:(\\S+)`, 'm').exec(description)?.[1] ?? '';
    return /^rtsps?:/.test(control) ? control : `${this.#base}${control}`;
  }

  async #frame(timeoutMs: number): Promise<ChannelData | undefined> {
    try {
      return await this.connection.frame(timeoutMs);
    } catch (error) {
      if (this.connection.closed) return undefined;
      throw error;
    }
  }

  async #ask(method: string, url: string, headers: Record<string, string> = {}): Promise<RtspAnswer> {
    const session: Record<string, string> = this.session === '' ? {} : { Session: this.session };
    const answer = await this.connection.request(method, url, { ...session, ...headers });
    if (answer.status !== 200) throw new RtspStatusError(method, answer.status);
    return answer;
  }
}

/** Packet types of a compound RTCP packet, in their order. */
export function reportTypes(compound: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 4 <= compound.length; at += 4 * (compound.readUInt16BE(at + 2) + 1))
    types.push(compound.readUInt8(at + 1));
  return types;
}

/** An RTSP answer as it came over the wire. */
export interface RtspAnswer {
  statusLine: string;
  status: number;
  headers: Map<string, string>;
  body: string;
}

/** Interleaved data: channel and packet. */
interface ChannelData {
  channel: number;
  data: Buffer;
}

type Part = { answer: RtspAnswer } | { frame: ChannelData };

/** A raw RTSP connection for tests: sends what it is told, and gives back answers and packets one by one. */
export class TestRtspConnection {
  /** Whether the connection has ended; and why, where it was not in order (`ECONNRESET`). */
  closed = false;
  error: Error | undefined;
  #received: Buffer = Buffer.alloc(0);
  readonly #answers: RtspAnswer[] = [];
  readonly #frames: ChannelData[] = [];
  #wake: () => void = () => undefined;
  #cseq = 0;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => (this.error = error));
    socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
  }

  static async open(url: string): Promise<TestRtspConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port === '' ? '554' : port) });
    await once(socket, 'connect');
    return new TestRtspConnection(socket);
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

  answer(timeoutMs = PATIENCE): Promise<RtspAnswer> {
    return this.#next(this.#answers, 'answer', timeoutMs);
  }

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
    while (!this.closed) {
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
      if (this.closed) throw new Error(`The connection ended while a test waited for an ${what}.`);
      if (deadline.aborted) throw new Error(`No ${what} within ${timeoutMs} ms.`);
      await this.#somethingNew(deadline);
    }
    return queue.shift() as T;
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

/** Name, in small letters, and value of a header line. */
export function splitField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
