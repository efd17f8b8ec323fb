import type { Socket } from 'node:net';
import { Abort } from '../../concurrency/signals';

/**
 * Tells when connections end. Each has one listener for it, however many of its requests wait: of more than ten Node warns as of
 * a leak, and a sender may have sent that many one behind the other.
 */
export class ConnectionEnds {
  readonly #ends = new WeakMap<Socket, Abort>();

  /** Aborted when this connection ends. */
  of(socket: Socket): Abort {
    const known = this.#ends.get(socket);
    if (known !== undefined) return known;
    const end = new Abort();
    const ended = (): void => end.abort(new Error('The connection has ended.'));
    if (socket.closed) ended();
    else socket.once('close', ended);
    this.#ends.set(socket, end);
    return end;
  }
}
