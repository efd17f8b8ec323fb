import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Senders } from '../bounds/senders';
import { UnfinishedRequests, type Unfinished } from '../bounds/unfinished';

interface Connection {
  /** As accepted; below the one that requests name, where TLS is spoken. */
  socket: Socket;
  /** Of the requests that are not answered. */
  responses: Set<ServerResponse>;
  /** Set while there is no complete request that is not answered. */
  waiting: Unfinished | undefined;
  /** Nothing more can be read from it. */
  broken: boolean;
}

export interface ConnectionBounds {
  /** Connections without a complete request, in all; those of one address as in `UnfinishedRequests`. */
  maxWaiting: number;
  senders: Senders;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Told of each connection that is closed to make room. */
  onCut: () => void;
}

/**
 * The connections of a server. Those without a complete request are bounded, and of them the oldest closed, so that the
 * real sender always gets in; the proxies and this machine, which many stand behind, are not counted.
 */
export class Connections {
  readonly #open = new Map<string, Connection>();
  readonly #waiting: UnfinishedRequests;
  #ending = false;

  constructor({ maxWaiting, senders, steady, onCut }: ConnectionBounds) {
    const isShared = (address: string): boolean => senders.isShared(address);
    this.#waiting = new UnfinishedRequests({
      maxHeld: Infinity,
      maxCount: maxWaiting,
      isShared,
      steady,
      onCut,
    });
  }

  /** Takes note of a socket that was accepted, before any TLS is spoken. */
  accepted(socket: Socket): void {
    const key = keyOf(socket);
    const connection: Connection = { socket, responses: new Set(), waiting: undefined, broken: false };
    this.#open.set(key, connection);
    this.#wait(connection);
    socket.once('close', () => {
      this.#proceed(connection);
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
  }

  /** Takes note of a request whose head is complete. */
  began(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#open.get(keyOf(req.socket));
    if (connection === undefined) return;
    connection.responses.add(res);
    req.once('end', () => this.#proceed(connection));
    res.once('close', () => {
      connection.responses.delete(res);
      if (connection.responses.size === 0) this.#answered(connection, req.socket);
    });
  }

  /** True where no request is under way on a connection. */
  isSilent(socket: Socket): boolean {
    return this.#open.get(keyOf(socket))?.responses.size === 0;
  }

  /** Whether a connection of which no more can be read is still owed an answer; if so it ends behind that. */
  endsBehindAnswer(socket: Socket): boolean {
    const connection = this.#open.get(keyOf(socket));
    if (connection === undefined) return false;
    connection.broken = [...connection.responses].some(({ req }) => req.complete);
    return connection.broken;
  }

  /** True where no answer has begun on a connection. */
  isUnanswered(socket: Socket): boolean {
    const responses = this.#open.get(keyOf(socket))?.responses ?? [];
    return [...responses].every(({ headersSent }) => !headersSent);
  }

  /** Closes all; those with a request under way once they have their answer. */
  end(): void {
    this.#ending = true;
    for (const { socket, responses } of this.#open.values()) if (responses.size === 0) socket.destroy();
  }

  #answered(connection: Connection, socket: Socket): void {
    if (this.#ending || connection.broken) socket.destroySoon();
    else if (!connection.socket.destroyed) this.#wait(connection);
  }

  #wait(connection: Connection): void {
    connection.waiting ??= this.#waiting.add(connection.socket, connection.socket.remoteAddress);
  }

  #proceed(connection: Connection): void {
    if (connection.waiting !== undefined) this.#waiting.remove(connection.waiting);
    connection.waiting = undefined;
  }
}

/** The same for the accepted socket and for the one with TLS above it. */
function keyOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
