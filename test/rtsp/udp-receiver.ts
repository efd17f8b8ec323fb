import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

import type { RtspAnswer } from '../support/rtsp/rtsp-client';
import { eventually } from '../support/time/patience';

/** The two UDP ports of a player. */
export class UdpReceiver {
  readonly #rtp: Socket;
  readonly #rtcp: Socket;
  readonly #packets: Buffer[] = [];

  private constructor(rtp: Socket, rtcp: Socket) {
    this.#rtp = rtp;
    this.#rtcp = rtcp;
    rtp.on('message', (packet) => this.#packets.push(packet));
  }

  static async open(): Promise<UdpReceiver> {
    return new UdpReceiver(await bind(0), await bind(0));
  }

  get transport(): string {
    return `RTP/AVP;unicast;client_port=${this.#rtp.address().port}-${this.#rtcp.address().port}`;
  }

  async rtp(count: number): Promise<Buffer[]> {
    await eventually(() => this.#packets.length >= count, `${count} packets`);
    return this.#packets.slice(0, count);
  }

  /** Sends an empty receiver report to the RTCP port that SETUP named; resolves when it is on its way. */
  report(setup: RtspAnswer): Promise<void> {
    const report = Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 1]);
    return new Promise((resolve, reject) => {
      this.#rtcp.send(report, serverPorts(setup)[1], '127.0.0.1', (error) =>
        error ? reject(error) : resolve(),
      );
    });
  }

  /** Resolves where both ports that SETUP named are free again. */
  async canBind(setup: RtspAnswer): Promise<void> {
    for (const port of serverPorts(setup)) (await bind(port)).close();
  }

  close(): void {
    this.#rtp.close();
    this.#rtcp.close();
  }
}

function serverPorts(setup: RtspAnswer): [number, number] {
  const match = /server_port=(\d+)-(\d+)/.exec(setup.headers.get('transport') ?? '');
  return [Number(match?.[1]), Number(match?.[2])];
}

async function bind(port: number): Promise<Socket> {
  const socket = createSocket('udp4');
  const listening = once(socket, 'listening');
  socket.bind({ address: '127.0.0.1', port, exclusive: true });
  await listening;
  return socket;
}
