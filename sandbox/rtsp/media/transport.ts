import type { Socket } from 'node:net';

import { resetSocket } from '../protocol/reset-socket';

/** A client that reads more slowly than we send gets no more before this many bytes are on their way. */
const MAX_WAITING_BYTES = 512 * 1024;

/** The way of a stream to its player. */
export interface MediaTransport {
  /** Value of the `Transport` header in the answer to SETUP, without `ssrc`. */
  readonly header: string;
  /** False while the player does not keep up: hold the next picture back. */
  ready(): boolean;
  sendRtp(packet: Buffer): void;
  sendRtcp(packet: Buffer): void;
  /** Cuts the connection in the middle of a packet, or resets it. Where there is no connection, nothing more is sent. */
  breakOff(how: 'reset' | 'cut', packet: Buffer): void;
  close(): void;
}

/** Packets in the RTSP connection itself: `$`, channel, length, data (RFC 2326, section 10.12). */
export class InterleavedTransport implements MediaTransport {
  readonly header: string;
  readonly #socket: Socket;
  readonly #channels: readonly [number, number];

  constructor(socket: Socket, channels: readonly [number, number]) {
    this.#socket = socket;
    this.#channels = channels;
    this.header = `RTP/AVP/TCP;unicast;interleaved=${channels[0]}-${channels[1]}`;
  }

  ready(): boolean {
    return this.#socket.writableLength < MAX_WAITING_BYTES;
  }

  sendRtp(packet: Buffer): void {
    this.#send(this.#channels[0], packet);
  }

  sendRtcp(packet: Buffer): void {
    this.#send(this.#channels[1], packet);
  }

  breakOff(how: 'reset' | 'cut', packet: Buffer): void {
    if (how === 'reset') {
      resetSocket(this.#socket);
      return;
    }
    const frame = interleave(this.#channels[0], packet);
    this.#socket.end(frame.subarray(0, Math.ceil(frame.length / 2)));
  }

  close(): void {
    // The connection belongs to the client, which may want to go on with another session.
  }

  #send(channel: number, packet: Buffer): void {
    if (this.#socket.writable) this.#socket.write(interleave(channel, packet));
  }
}

function interleave(channel: number, packet: Buffer): Buffer {
  const header = Buffer.from([0x24, channel, packet.length >>> 8, packet.length & 0xff]);
  return Buffer.concat([header, packet]);
}
