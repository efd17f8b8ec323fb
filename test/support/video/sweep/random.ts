import { seededChance } from '../../inbox/broken-files';

/** Choices that the seed alone decides, so that whatever they led to can be had again. */
export class Random {
  /** From 0 up to, not including, 1. */
  readonly fraction: () => number;

  constructor(seed: number) {
    this.fraction = seededChance(seed | 0);
  }

  /** A whole number from 0 up to, not including, `limit`. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** @throws Error for an empty list */
  pick<Kind>(list: readonly Kind[]): Kind {
    const kind = list[this.below(list.length)];
    if (kind === undefined) throw new Error('There is nothing to choose from.');
    return kind;
  }
}

/** Seed of one stream of a kind, so that each can be made again without those before it. */
export function seedOfInput(seed: number, kind: string, number: number): number {
  let mixed = seed ^ 0x811c9dc5;
  for (const character of kind) mixed = Math.imul(mixed ^ (character.codePointAt(0) ?? 0), 0x01000193);
  mixed = Math.imul(mixed ^ number ^ (mixed >>> 15), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}
