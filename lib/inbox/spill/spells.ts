import type { Consumer } from '../inbox';

/** From the first message of an endpoint that was spilled until all are in the inbox. */
interface Spell {
  count: number;
  /** `none`: all of them were spilled by a former process, which told of it. */
  begin: 'none' | 'owed' | 'told';
  isOver: boolean;
}

/**
 * Of each endpoint, how many messages were spilled since its inbox failed; its consumer is told of the begin and of the end,
 * as soon as there is one.
 */
export class Spells {
  readonly #spells = new Map<string, Spell>();

  /** @param consumerOf undefined where nothing reaches a flow now */
  constructor(private readonly consumerOf: (endpointId: string) => Consumer | undefined) {}

  spilled(endpointId: string): void {
    const spell = this.#count(endpointId);
    if (spell.begin === 'none') spell.begin = 'owed';
    this.tellOwed(endpointId);
  }

  /** A former process had spilled it. */
  restored(endpointId: string): void {
    this.#count(endpointId);
  }

  /** All of them are in the inbox. */
  over(): void {
    for (const [endpointId, spell] of this.#spells) {
      spell.isOver = true;
      this.tellOwed(endpointId);
    }
  }

  /** Something reaches the flow again. */
  tellOwed(endpointId: string): void {
    const spell = this.#spells.get(endpointId);
    if (spell === undefined || (spell.begin !== 'owed' && !spell.isOver)) return;
    const consumer = this.consumerOf(endpointId);
    if (consumer === undefined) return;
    const { count, isOver } = spell;
    spell.begin = 'told';
    if (isOver) this.#spells.delete(endpointId);
    consumer.onSpilled({ count, isOver });
  }

  /** One more, of a spell whose end nobody heard of perhaps: then it goes on. */
  #count(endpointId: string): Spell {
    const spell = this.#spells.get(endpointId) ?? { count: 0, begin: 'none', isOver: false };
    this.#spells.set(endpointId, spell);
    spell.count += 1;
    spell.isOver = false;
    return spell;
  }
}
