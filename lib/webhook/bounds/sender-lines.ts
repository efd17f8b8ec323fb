import type { RequestSource, Senders } from './senders';

/** How long it counts that an address has proven something, in milliseconds: as long as the service sends again. */
const COUNTS_FOR = 24 * 60 * 60 * 1000;
/** Addresses kept; beyond it the one that proved something longest ago is forgotten. */
const MAX_ADDRESSES = 1000;

/**
 * In which line a request waits for its turn: that of its address, so that a stranger's many connections count as one. Behind an
 * address that many share, as that of a proxy, and at one that has proven something, each connection is a line of its own: one turn for all of
 * them would be too little for a burst of alarms.
 */
export class SenderLines {
  /** Addresses that have proven something, and when: the latest last. */
  readonly #proven = new Map<string, number>();

  /** @param steady milliseconds of a clock that never jumps */
  constructor(
    private readonly senders: Senders,
    private readonly steady: () => number,
  ) {}

  of(req: RequestSource): string {
    const address = this.senders.addressOf(req);
    // The peer has gone: what is left of it is no crowd.
    if (address === undefined) return '';
    const isByConnection = this.senders.isShared(address) || this.#hasProven(address);
    return isByConnection ? `${address} ${req.socket.remotePort}` : address;
  }

  /** Notes that the sender of a request has proven it. */
  proven(req: RequestSource): void {
    const address = this.senders.addressOf(req);
    if (address === undefined || this.senders.isShared(address)) return;
    this.#proven.delete(address);
    this.#proven.set(address, this.steady());
    const [oldest] = this.#proven.keys();
    if (this.#proven.size > MAX_ADDRESSES && oldest !== undefined) this.#proven.delete(oldest);
  }

  #hasProven(address: string): boolean {
    const at = this.#proven.get(address);
    return at !== undefined && this.steady() - at < COUNTS_FOR;
  }
}
