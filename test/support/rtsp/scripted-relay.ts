import net from 'node:net';
import tls, { type TlsOptions } from 'node:tls';
import { compoundBye, RtpPackets, senderReport, videoPayloads } from '../../../sandbox/rtsp/media/packets';
import { PAYLOAD_TYPES, TICKS_PER_PICTURE } from '../../../sandbox/rtsp/media/programme';
import type { Footage } from '../../../sandbox/scene/footage';
import { LocalServer } from '../network/servers';
import { splitField } from './rtsp-client';
import { emptyGate, Scenes } from '../../../sandbox/scene/scenes';

/** A request as the relay got it. */
export interface RelayRequest {
  method: string;
  url: string;
  /** Names in small letters. */
  headers: Map<string, string>;
  /** Of which connection, from 1. */
  connection: number;
}

/** What is sent for a request; nothing where it is undefined. */
type Reply = string | Buffer | undefined;
export type Script = Partial<Record<string, (request: RelayRequest, socket: net.Socket) => Reply>>;

/** A relay whose answers a test writes. What no script is for is answered as a good relay would. */
export class ScriptedRelay extends LocalServer {
  readonly requests: RelayRequest[] = [];
  /** Binary data of the client, with its channel. */
  readonly packets: { channel: number; data: Buffer }[] = [];
  connections = 0;
  readonly #script: Script;
  readonly #scheme: string;

  private constructor(script: Script, options: TlsOptions | undefined) {
    const connected = options === undefined ? 'connection' : 'secureConnection';
    const server = options === undefined ? net.createServer() : tls.createServer(options);
    super(server, connected);
    this.#script = script;
    this.#scheme = options === undefined ? 'rtsp' : 'rtsps';
    server.on(connected, (socket: net.Socket) => this.#serve(socket));
  }

  static start(script: Script = {}, options?: TlsOptions): Promise<ScriptedRelay> {
    return new ScriptedRelay(script, options).listening();
  }

  override get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}/live/camera-secret`;
  }

  /** Methods of the requests, in their order. */
  get methods(): string[] {
    return this.requests.map(({ method }) => method);
  }

  /** The last request by this method. */
  last(method: string): RelayRequest {
    const request = this.requests.findLast((each) => each.method === method);
    if (request === undefined) throw new Error(`no ${method} has come`);
    return request;
  }

  /** To all who are connected. */
  send(bytes: string | Buffer): void {
    for (const socket of this.open) socket.write(bytes);
  }

  #serve(socket: net.Socket): void {
    const connection = ++this.connections;
    let received: Buffer = Buffer.alloc(0);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (let end = this.#takeOne(received, connection, socket); end > 0;) {
        received = received.subarray(end);
        end = this.#takeOne(received, connection, socket);
      }
    });
  }

  /** @returns bytes that were taken */
  #takeOne(received: Buffer, connection: number, socket: net.Socket): number {
    if (received[0] === 0x24) return this.#takePacket(received);
    const end = received.indexOf('\r\n\r\n') + 4;
    if (end < 4) return 0;
    const request = requestIn(received.toString('utf8', 0, end - 4), connection);
    if (request.method.startsWith('RTSP/')) return end;
    this.requests.push(request);
    const reply = (this.#script[request.method] ?? goodReply)(request, socket);
    if (reply !== undefined) socket.write(reply);
    return end;
  }

  #takePacket(received: Buffer): number {
    if (received.length < 4) return 0;
    const end = 4 + received.readUInt16BE(2);
    if (received.length < end) return 0;
    this.packets.push({ channel: received.readUInt8(1), data: received.subarray(4, end) });
    return end;
  }
}

function requestIn(text: string, connection: number): RelayRequest {
  const [first = '', ...lines] = text.split('\r\n');
  const [method = '', url = ''] = first.split(' ');
  return { method, url, headers: new Map(lines.map(splitField)), connection };
}

/** An answer to this request. */
export function reply(
  { headers }: RelayRequest,
  status: number,
  more: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const length: Record<string, string> =
    body === '' ? {} : { 'Content-Length': `${Buffer.byteLength(body)}` };
  const lines = Object.entries({ CSeq: headers.get('cseq') ?? '', ...more, ...length });
  return `RTSP/1.0 ${status} x\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

export function goodReply(request: RelayRequest): string {
  switch (request.method) {
    case 'DESCRIBE':
      return reply(request, 200, { 'Content-Type': 'application/sdp' }, sdp(VIDEO));
    case 'SETUP':
      return reply(request, 200, {
        Session: 'session-1;timeout=60',
        Transport: request.headers.get('transport') ?? '',
      });
    case 'OPTIONS':
      return reply(request, 200, { Public: 'DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN' });
    default:
      return reply(request, 200, { Session: 'session-1' });
  }
}

export const VIDEO: readonly string[] = [
  'm=video 0 RTP/AVP 96',
  'a=rtpmap:96 H264/90000',
  'a=fmtp:96 packetization-mode=1',
  'a=control:track1',
];
export const AAC: readonly string[] = [
  'm=audio 0 RTP/AVP 97',
  'a=rtpmap:97 MPEG4-GENERIC/44100/2',
  'a=fmtp:97 streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1210',
  'a=control:track2',
];
export const PCMA: readonly string[] = ['m=audio 0 RTP/AVP 8', 'a=control:track3'];

export function sdp(...media: readonly (readonly string[])[]): string {
  return ['v=0', 'o=- 1 1 IN IP4 0.0.0.0', 's=-', 't=0 0', 'a=control:*', ...media.flat(), ''].join('\r\n');
}

/** Data on a channel (RFC 2326, section 10.12). */
export function interleaved(channel: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x24, channel, data.length >>> 8, data.length & 0xff]), data]);
}

/** A camera of the sandbox where nobody comes. */
const VIEW = emptyGate('');
const AUDIO_TYPE = 97;
const AUDIO_SSRC = 0x1234;

/** What a relay sends of the recording of the sandbox, picture by picture, as bytes of its connection. */
export class PictureSource {
  readonly #packets = new RtpPackets(PAYLOAD_TYPES.video);
  #next = 0;

  private constructor(
    private readonly footage: Footage,
    private readonly channel: number,
  ) {}

  static async load(channel = 0): Promise<PictureSource> {
    return new PictureSource(await new Scenes().footage(VIEW.scene), channel);
  }

  /** Sequence number of the next packet. */
  get sequence(): number {
    return this.#packets.sequence;
  }

  /** RTP time of the next picture. */
  get rtpTime(): number {
    return this.#next * TICKS_PER_PICTURE;
  }

  /** The next pictures: every tenth, from the first on, is a key frame. */
  pictures(count: number): Buffer {
    const packets: Buffer[] = [];
    for (let made = 0; made < count; made += 1) {
      const { nals } = this.footage.picture(this.#next, VIEW);
      packets.push(...this.#packets.of(videoPayloads(this.footage.codec, nals), this.rtpTime));
      this.#next += 1;
    }
    return Buffer.concat(packets.map((packet) => interleaved(this.channel, packet)));
  }

  /** @param wallClock epoch milliseconds of RTP time 0 */
  report(wallClock: number): Buffer {
    return interleaved(this.channel + 1, senderReport({ ...this.#sender(), wallClock, timestamp: 0 }));
  }

  bye(): Buffer {
    return interleaved(this.channel + 1, compoundBye(this.#sender()));
  }

  #sender(): { ssrc: number; wallClock: number; timestamp: number; packets: number; octets: number } {
    const { ssrc, packets, octets } = this.#packets;
    return { ssrc, wallClock: 0, timestamp: this.rtpTime, packets, octets };
  }
}

/** One access unit of AAC in a packet (RFC 3640, section 3.3.6), on channel 2. */
export function soundPacket(sequence: number, rtpTime: number): Buffer {
  const unit = Buffer.alloc(10, sequence);
  const head = Buffer.alloc(16);
  head[0] = 0x80;
  head[1] = 0x80 | AUDIO_TYPE;
  head.writeUInt16BE(sequence & 0xffff, 2);
  head.writeUInt32BE(rtpTime >>> 0, 4);
  head.writeUInt32BE(AUDIO_SSRC, 8);
  head.writeUInt16BE(16, 12);
  head.writeUInt16BE(unit.length << 3, 14);
  return interleaved(2, Buffer.concat([head, unit]));
}

/** @param wallClock epoch milliseconds of RTP time 0 */
export function soundReport(wallClock: number): Buffer {
  const sender = { ssrc: AUDIO_SSRC, wallClock, timestamp: 0, packets: 1, octets: 1 };
  return interleaved(3, senderReport(sender));
}

export function soundBye(): Buffer {
  return interleaved(3, compoundBye({ ssrc: AUDIO_SSRC, wallClock: 0, timestamp: 0, packets: 1, octets: 1 }));
}
