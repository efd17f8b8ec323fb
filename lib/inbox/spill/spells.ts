import type { Consumer } from '../inbox';

/** Of each endpoint, how many messages were spilled since its inbox failed; its consumer is told of the begin and of the end. */
export class Spells {
  readonly #counts = new Map<string, number>();

  constructor(private readonly consumerOf: (endpointId: string) => Consumer | undefined) {}

  spilled(endpointId: string): void {
    const count = (this.#counts.get(endpointId) ?? 0) + 1;
    this.#counts.set(endpointId, count);
    if (count === 1) this.consumerOf(endpointId)?.onSpilled({ count, isOver: false });
  }

  /** All of them are in the inbox. */
  over(): void {
    const counts = [...this.#counts];
    this.#counts.clear();
    for (const [endpointId, count] of counts) this.consumerOf(endpointId)?.onSpilled({ count, isOver: true });
  }
}
