import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** Takes connections and says nothing, not even the answer to a TLS handshake. */
export class MuteServer {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    socket.resume();
  });

  static async start(): Promise<MuteServer> {
    const mute = new MuteServer();
    mute.#server.listen(0, '127.0.0.1');
    await once(mute.#server, 'listening');
    return mute;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
