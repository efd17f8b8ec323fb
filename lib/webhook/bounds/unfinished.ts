import type { Socket } from 'node:net';

/** A request, or a connection, that has not come to its end. */
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
  /** Of all addresses that are counted, together. Default: no bound. */
  maxCount?: number;
  /** True for an address that many share, which is not counted. */
  isShared: (address: string) => boolean;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Told of each request that is cut. */
  onCut: () => void;
}

/** Unfinished requests of one address that is not shared: a sender needs a handful, an attacker many. */
const MAX_FOR_ADDRESS = 50;
/** Younger ones are spared by that bound, in milliseconds: behind one address may be everybody, an alarm among them. */
const TIME_TO_FINISH = 2000;

/**
 * The requests whose body is still on its way, or the connections without a complete request. Above a bound the oldest
 * are cut, and never a new one turned away: a real alarm is complete in a moment, and what lingers is not worth waiting
 * for. Addresses that many share, as behind a reverse proxy, are bound by memory alone.
 */
export class UnfinishedRequests {
  /** Oldest first, as in the sets of the addresses. */
  readonly #requests = new Set<Unfinished>();
  readonly #ofAddress = new Map<string, Set<Unfinished>>();
  #held = 0;
  #counted = 0;

  constructor(private readonly bounds: UnfinishedBounds) {}

  /** @param sender address it is counted by; undefined where the connection is gone already */
  add(socket: Socket, sender = ''): Unfinished {
    const address = this.bounds.isShared(sender) ? '' : sender;
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
    if (requests?.delete(request)) this.#counted -= 1;
    if (requests?.size === 0) this.#ofAddress.delete(request.address);
  }

  #addTo(address: string, request: Unfinished): void {
    const requests = this.#ofAddress.get(address) ?? new Set<Unfinished>();
    this.#ofAddress.set(address, requests);
    requests.add(request);
    this.#counted += 1;
    if (this.#counted > (this.bounds.maxCount ?? Infinity)) this.#cutOfLargest();
    const latest = request.since - TIME_TO_FINISH;
    for (const oldest of requests) {
      if (requests.size <= MAX_FOR_ADDRESS || oldest.since > latest) return;
      this.#cut(oldest);
    }
  }

  /** One address that has many cannot drive out the only one of another. */
  #cutOfLargest(): void {
    let largest: Set<Unfinished> | undefined;
    for (const requests of this.#ofAddress.values())
      if (largest === undefined || requests.size > largest.size) largest = requests;
    for (const oldest of largest ?? []) return this.#cut(oldest);
  }

  #cut(request: Unfinished): void {
    this.remove(request);
    request.socket.destroy();
    this.bounds.onCut();
  }
}
