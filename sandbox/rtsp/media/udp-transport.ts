import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

import type { MediaTransport } from './transport';

const MAX_ATTEMPTS = 30;

export interface UdpPeer {
  /** Address the RTSP connection came from; nothing is ever sent to another. */
  address: string;
  ports: readonly [number, number];
}

/** Two neighbouring UDP ports of our own, the even one for RTP, and the player's two. */
export class UdpTransport implements MediaTransport {
  readonly header: string;
  readonly #sockets: readonly [Socket, Socket];
  readonly #peer: UdpPeer;
  #closed = false;

  private constructor(sockets: readonly [Socket, Socket], peer: UdpPeer, heard: () => void) {
    this.#sockets = sockets;
    this.#peer = peer;
    const own = sockets.map((socket) => socket.address().port);
    const their = peer.ports;
    this.header = `RTP/AVP;unicast;client_port=${their[0]}-${their[1]};server_port=${own[0]}-${own[1]}`;
    for (const socket of sockets) {
      // A player that has gone answers with "port unreachable"; its session ends by time-out, as the standard has it.
      socket.on('error', () => undefined);
    }
    sockets[1].on('message', (_data, from) => {
      if (from.address === peer.address) heard();
    });
  }

  /** Opens the ports at `host`; `heard` is called for each report of the player. Throws where no two neighbours are free. */
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
    for (const socket of this.#sockets) socket.close();
  }

  #send(which: 0 | 1, packet: Buffer): void {
    if (this.#closed) return;
    this.#sockets[which].send(packet, this.#peer.ports[which], this.#peer.address, () => undefined);
  }
}

async function openPair(host: string): Promise<[Socket, Socket] | undefined> {
  const rtp = await bind(host, 0);
  if (rtp === undefined) return undefined;
  const { port } = rtp.address();
  const rtcp = port % 2 === 0 ? await bind(host, port + 1) : undefined;
  if (rtcp !== undefined) return [rtp, rtcp];
  rtp.close();
  return undefined;
}

async function bind(address: string, port: number): Promise<Socket | undefined> {
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
