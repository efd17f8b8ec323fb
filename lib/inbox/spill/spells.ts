import type { Consumer } from '../inbox';

/** From the first message of an endpoint that was spilled until all are in the inbox. */
interface Spell {
  /** Messages that were spilled. */
  spilled: number;
  /** Of those, how many are in the inbox by now. */
  entered: number;
  /** `none`: all of them were spilled by a former process, which told of it. */
  begin: 'none' | 'owed' | 'told';
  isOver: boolean;
}

/**
 * Of each endpoint, how many messages were spilled since its inbox failed, and how many have entered it since; its consumer is told
 * of the begin and of the end, as soon as there is one.
 */
export class Spells {
  readonly #spells = new Map<string, Spell>();
  /** Messages of all endpoints, since it was last asked for. */
  #entered = 0;

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

  /** One of those that were spilled is in the inbox. */
  entered(endpointId: string): void {
    this.#entered += 1;
    const spell = this.#spells.get(endpointId);
    if (spell !== undefined) spell.entered += 1;
  }

  /**
   * All that the inbox would have are in it.
   * @returns how many have entered since the last time, those of all endpoints
   */
  over(): number {
    for (const [endpointId, spell] of this.#spells) {
      spell.isOver = true;
      this.tellOwed(endpointId);
    }
    const entered = this.#entered;
    this.#entered = 0;
    return entered;
  }

  /** Something reaches the flow again. */
  tellOwed(endpointId: string): void {
    const spell = this.#spells.get(endpointId);
    if (spell === undefined || (spell.begin !== 'owed' && !spell.isOver)) return;
    const consumer = this.consumerOf(endpointId);
    if (consumer === undefined) return;
    const { spilled, entered, isOver } = spell;
    spell.begin = 'told';
    if (isOver) this.#spells.delete(endpointId);
    consumer.onSpilled({ count: isOver ? entered : spilled, isOver });
  }

  /** One more, of a spell whose end nobody heard of perhaps: then it goes on. */
  #count(endpointId: string): Spell {
    const spell = this.#spells.get(endpointId) ?? { spilled: 0, entered: 0, begin: 'none', isOver: false };
    this.#spells.set(endpointId, spell);
    spell.spilled += 1;
    spell.isOver = false;
    return spell;
  }
}
