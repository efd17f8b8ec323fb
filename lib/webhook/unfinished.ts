import type { Socket } from 'node:net';

/** A request whose body is still on its way. */
export interface Unfinished {
  socket: Socket;
  /** Memory held for its body, in bytes. */
  held: number;
  /** When it began, in milliseconds of a clock that never jumps. */
  since: number;
  /** Kept here, because a socket that has gone has none; '' = not counted by address. */
  address: string;
}

export interface UnfinishedBounds {
  /** Memory for all bodies together, in bytes. */
  maxHeld: number;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Told of each request that is cut. */
  onCut: () => void;
}

/** Unfinished requests of one address, other than this machine: a sender needs a handful, an attacker many. */
const MAX_FOR_ADDRESS = 50;
/** Younger ones are spared by that bound, in milliseconds: behind one address may be everybody, an alarm among them. */
const TIME_TO_FINISH = 2000;
const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

/**
 * The requests whose body is still on its way. Above a bound the oldest are cut, and never a new one turned away: a real
 * alarm is complete in a moment, and what lingers is not worth waiting for. This machine, which a reverse proxy may run
 * on, is bound by memory alone.
 */
export class UnfinishedRequests {
  /** Oldest first, as in the sets of the addresses. */
  readonly #requests = new Set<Unfinished>();
  readonly #ofAddress = new Map<string, Set<Unfinished>>();
  #held = 0;

  constructor(private readonly bounds: UnfinishedBounds) {}

  add(socket: Socket): Unfinished {
    const { remoteAddress = '' } = socket;
    const address = LOOPBACK.test(remoteAddress) ? '' : remoteAddress;
    const request = { socket, held: 0, since: this.bounds.steady(), address };
    this.#requests.add(request);
    if (address !== '') this.#addTo(address, request);
    return request;
  }

  /** Notes that memory for a body has grown to `held` bytes. */
  grow(request: Unfinished, held: number): void {
    if (!this.#requests.has(request)) return;
    this.#held += held - request.held;
    request.held = held;
    for (const oldest of this.#requests) {
      if (this.#held <= this.bounds.maxHeld) return;
      this.#cut(oldest);
    }
  }

  remove(request: Unfinished): void {
    if (!this.#requests.delete(request)) return;
    this.#held -= request.held;
    const requests = this.#ofAddress.get(request.address);
    requests?.delete(request);
    if (requests?.size === 0) this.#ofAddress.delete(request.address);
  }

  #addTo(address: string, request: Unfinished): void {
    const requests = this.#ofAddress.get(address) ?? new Set<Unfinished>();
    this.#ofAddress.set(address, requests);
    requests.add(request);
    const latest = request.since - TIME_TO_FINISH;
    for (const oldest of requests) {
      if (requests.size <= MAX_FOR_ADDRESS || oldest.since > latest) return;
      this.#cut(oldest);
    }
  }

  #cut(request: Unfinished): void {
    this.remove(request);
    request.socket.destroy();
    this.bounds.onCut();
  }
}
