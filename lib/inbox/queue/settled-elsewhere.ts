/** How long an answer of the store may be behind what another instance has told of it, in milliseconds. */
const REMEMBERED = 60_000;

/**
 * Events that another instance has settled while the answer that leases them here was still on its way: what is told comes on a
 * connection of its own, and may be faster.
 */
export class SettledElsewhere {
  /** By delivery id, when it was told, the oldest first. */
  readonly #told = new Map<string, number>();

  constructor(private readonly steady: () => number = () => performance.now()) {}

  add(deliveryId: string): void {
    const now = this.steady();
    for (const [id, at] of this.#told) {
      if (now - at < REMEMBERED) break;
      this.#told.delete(id);
    }
    this.#told.set(deliveryId, now);
  }

  has(deliveryId: string): boolean {
    return this.#told.has(deliveryId);
  }
}
