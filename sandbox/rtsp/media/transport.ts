import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { resetSocket } from '../protocol';

/** Nothing more is sent to a slow client while this many bytes are unsent. */
const MAX_WAITING_BYTES = 512 * 1024;

/** Sends the packets of one track to the player. */
export interface MediaTransport {
  /** Value of the `Transport` header in the answer to SETUP, without `ssrc`. */
  readonly header: string;
  /** False while the player reads too slowly: the caller delays the next picture. */
  ready(): boolean;
  sendRtp(packet: Buffer): void;
  sendRtcp(packet: Buffer): void;
  /** Ends the connection in the middle of a packet, or resets it. Over UDP only sending stops. */
  breakOff(how: 'reset' | 'cut', packet: Buffer): void;
  close(): void;
}

/** Sends packets in the RTSP connection: `$`, channel, length, data (RFC 2326, section 10.12). */
export class InterleavedTransport implements MediaTransport {
  readonly header: string;

  constructor(
    private readonly socket: Socket,
    private readonly channels: readonly [number, number],
  ) {
    this.header = `RTP/AVP/TCP;unicast;interleaved=${channels[0]}-${channels[1]}`;
  }

  ready(): boolean {
    return this.socket.writableLength < MAX_WAITING_BYTES;
  }

  sendRtp(packet: Buffer): void {
    this.#send(this.channels[0], packet);
  }

  sendRtcp(packet: Buffer): void {
    this.#send(this.channels[1], packet);
  }

  breakOff(how: 'reset' | 'cut', packet: Buffer): void {
    if (how === 'reset') return resetSocket(this.socket);
    const frame = interleave(this.channels[0], packet);
    this.socket.end(frame.subarray(0, Math.ceil(frame.length / 2)));
  }

  close(): void {
    // The connection stays open: the client may continue with another session.
  }

  #send(channel: number, packet: Buffer): void {
    if (this.socket.writable) this.socket.write(interleave(channel, packet));
  }
}

function interleave(channel: number, packet: Buffer): Buffer {
  const header = Buffer.from([0x24, channel, packet.length >>> 8, packet.length & 0xff]);
  return Buffer.concat([header, packet]);
}

const MAX_ATTEMPTS = 30;

interface UdpPeer {
  /** Address that the RTSP connection came from; packets are sent to no other. */
  address: string;
  ports: readonly [number, number];
}

/** Two adjacent UDP ports of the server, the even one for RTP, and the player's two. */
export class UdpTransport implements MediaTransport {
  readonly header: string;
  #closed = false;

  private constructor(
    private readonly sockets: readonly [UdpSocket, UdpSocket],
    private readonly peer: UdpPeer,
    heard: () => void,
  ) {
    const own = sockets.map((socket) => socket.address().port);
    const their = peer.ports;
    this.header = `RTP/AVP;unicast;client_port=${their[0]}-${their[1]};server_port=${own[0]}-${own[1]}`;
    for (const socket of sockets) {
      // A closed player port causes "port unreachable"; as in the standard, the session ends by timeout.
      socket.on('error', () => undefined);
    }
    sockets[1].on('message', (_data, from) => {
      if (from.address === peer.address) heard();
    });
  }

  /**
   * Opens the ports at `host`; `heard` is called for each report of the player.
   * @throws Error if no two adjacent ports are free
   */
  static async open(host: string, peer: UdpPeer, heard: () => void): Promise<UdpTransport> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const sockets = await openPair(host);
      if (sockets !== undefined) return new UdpTransport(sockets, peer, heard);
    }
    throw new Error('No two neighbouring UDP ports are free.');
  }

  ready(): boolean {
    return true;
  }

  sendRtp(packet: Buffer): void {
    this.#send(0, packet);
  }

  sendRtcp(packet: Buffer): void {
    this.#send(1, packet);
  }

  breakOff(): void {
    this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const socket of this.sockets) socket.close();
  }

  #send(which: 0 | 1, packet: Buffer): void {
    if (this.#closed) return;
    this.sockets[which].send(packet, this.peer.ports[which], this.peer.address, () => undefined);
  }
}

async function openPair(host: string): Promise<[UdpSocket, UdpSocket] | undefined> {
  const rtp = await bind(host, 0);
  if (rtp === undefined) return undefined;
  const { port } = rtp.address();
  const rtcp = port % 2 === 0 ? await bind(host, port + 1) : undefined;
  if (rtcp !== undefined) return [rtp, rtcp];
  rtp.close();
  return undefined;
}

async function bind(address: string, port: number): Promise<UdpSocket | undefined> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    const listening = once(socket, 'listening');
    socket.bind({ address, port, exclusive: true });
    await listening;
    return socket;
  } catch {
    socket.close();
    return undefined;
  }
}
