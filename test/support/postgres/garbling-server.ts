import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** Says one thing after the other, each to whatever it hears. */
export class GarblingServer {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#serve(socket));

  private constructor(private readonly said: readonly Buffer[]) {}

  static async start(...said: readonly Buffer[]): Promise<GarblingServer> {
    const server = new GarblingServer(said);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    const rest = [...this.said];
    socket.on('data', () => {
      const said = rest.shift();
      if (said !== undefined) socket.write(said);
    });
  }
}

/** As PostgreSQL frames what it says. */
export function framed(type: string, body: readonly number[]): Buffer {
  const frame = Buffer.alloc(5 + body.length);
  frame.write(type);
  frame.writeInt32BE(4 + body.length, 1);
  frame.set(body, 5);
  return frame;
}
