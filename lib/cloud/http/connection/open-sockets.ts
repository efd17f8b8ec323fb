import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

type Connector = buildConnector.connector;

/**
 * The sockets that connectors have made. The HTTP client forgets a pool, and a pool one of its connections, where an attempt to
 * connect has failed, though others are under way: what is made then, nobody would end but the service.
 */
export class OpenSockets {
  readonly #sockets = new Set<Socket>();
  #closed = false;

  /** The same connector, whose sockets end with the others. */
  of(connect: Connector): Connector {
    return (target, callback) =>
      connect(target, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        this.#add(socket);
        callback(null, socket);
      });
  }

  /** Ends them all, and those that are made from now on. */
  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #add(socket: Socket): void {
    if (this.#closed) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
