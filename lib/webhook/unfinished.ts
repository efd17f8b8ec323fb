import type { Socket } from 'node:net';

/** A request whose body is still on its way. */
export interface Unfinished {
  socket: Socket;
  /** Memory held for its body, in bytes. */
  held: number;
}

/** Unfinished requests of one address, other than this machine: a sender needs a handful, an attacker many. */
const MAX_FOR_ADDRESS = 50;
const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

/**
 * The requests whose body is still on its way. Above a bound the oldest is cut, and never a new one turned away: a real
 * alarm is complete in a moment, and what lingers is not worth waiting for. This machine, which a reverse proxy may run
 * on, is bound by memory alone.
 */
export class UnfinishedRequests {
  /** Oldest first. */
  readonly #requests = new Set<Unfinished>();
  #held = 0;

  /**
   * @param maxHeld memory for all bodies together, in bytes
   * @param onCut told of each request that is cut
   */
  constructor(
    private readonly maxHeld: number,
    private readonly onCut: () => void,
  ) {}

  add(socket: Socket): Unfinished {
    const request = { socket, held: 0 };
    this.#requests.add(request);
    const same = this.#from(socket.remoteAddress);
    if (same.length > MAX_FOR_ADDRESS) this.#cut(same[0]);
    return request;
  }

  /** Notes that memory for a body has grown to `held` bytes. */
  grow(request: Unfinished, held: number): void {
    if (!this.#requests.has(request)) return;
    this.#held += held - request.held;
    request.held = held;
    while (this.#held > this.maxHeld) this.#cut(this.#requests.values().next().value);
  }

  remove(request: Unfinished): void {
    if (this.#requests.delete(request)) this.#held -= request.held;
  }

  #from(address: string | undefined): Unfinished[] {
    if (address === undefined || LOOPBACK.test(address)) return [];
    return [...this.#requests].filter(({ socket }) => socket.remoteAddress === address);
  }

  #cut(request: Unfinished | undefined): void {
    if (request === undefined) return;
    this.remove(request);
    request.socket.destroy();
    this.onCut();
  }
}
