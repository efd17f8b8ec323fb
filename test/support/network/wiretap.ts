import { once } from 'node:events';
import net from 'node:net';

/** Stands between a client and a server, passes all bytes on, and keeps those of the client. */
export class Wiretap {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  readonly #heard: Buffer[] = [];

  private constructor(port: number) {
    this.#server = net.createServer((client) => {
      const onward = net.connect(port, '127.0.0.1');
      client.on('data', (piece) => this.#heard.push(piece));
      for (const [from, to] of [
        [client, onward],
        [onward, client],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
  }

  /**
   * @param port of the server, on this machine
   * @param host where clients reach it
   */
  static async start(port: number, host = '127.0.0.1'): Promise<Wiretap> {
    const tap = new Wiretap(port);
    tap.#server.listen(0, host);
    await once(tap.#server, 'listening');
    return tap;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  /** All that clients have sent, one character a byte. */
  get heard(): string {
    return Buffer.concat(this.#heard).toString('latin1');
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
