import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import net from 'node:net';
import { eventually } from '../time/patience';

type Connected = (request: IncomingMessage, socket: net.Socket) => void;

/** A server that does what a test wants, with the connections to it. */
export class OddServer {
  readonly open = new Set<net.Socket>();
  connections = 0;

  private constructor(private readonly server: net.Server) {
    server.on('connection', (socket: net.Socket) => {
      this.connections += 1;
      this.open.add(socket);
      socket.on('error', () => undefined).on('close', () => this.open.delete(socket));
      // The server of node:http leaves the other half open.
      socket.on('end', () => socket.end());
    });
  }

  static async start(server: net.Server): Promise<OddServer> {
    const odd = new OddServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return odd;
  }

  /** A proxy: what it does with CONNECT. */
  static connect(connected: Connected): Promise<OddServer> {
    return OddServer.start(http.createServer().on('connect', connected));
  }

  /** What it does with each socket. */
  static raw(connected: (socket: net.Socket) => void): Promise<OddServer> {
    return OddServer.start(net.createServer(connected));
  }

  get port(): number {
    return (this.server.address() as net.AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ends all connections from this side, and waits for their end. */
  async interrupt(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    await eventually(() => this.open.size === 0, 'the end of the connections');
  }

  async close(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
