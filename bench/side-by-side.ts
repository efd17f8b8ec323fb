/** Figures of several rounds: the one in the middle, and how far the others lie apart. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** Two ways of doing the same, each told as a figure: a rate, a time, a size. */
export interface Sides {
  /** The package. */
  ours: () => Promise<number>;
  /** What it is measured against. */
  other: () => Promise<number>;
}

export interface Comparison {
  ours: Spread;
  other: Spread;
  /** Ours by the other, of each round: what slows the machine for a while slows both. */
  ratio: Spread;
  /** Ours less the other, of each round. */
  difference: Spread;
}

/**
 * Measures both sides in turn, round by round, each first in every other round. A round before the first one counts for
 * nothing: code is compiled and files are cached in it.
 */
export async function sideBySide(rounds: number, sides: Sides): Promise<Comparison> {
  const ours: number[] = [];
  const other: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const figures = await oneRound(sides, round % 2 === 0);

    if (round === 0) continue;
    ours.push(figures.ours);
    other.push(figures.other);
  }
  return {
    ours: spreadOf(ours),
    other: spreadOf(other),
    ratio: spreadOf(ours.map((figure, round) => figure / (other[round] ?? NaN))),
    difference: spreadOf(ours.map((figure, round) => figure - (other[round] ?? NaN))),
  };
}

async function oneRound(sides: Sides, oursFirst: boolean): Promise<{ ours: number; other: number }> {
  if (oursFirst) return { ours: await sides.ours(), other: await sides.other() };
  const other = await sides.other();
  return { ours: await sides.ours(), other };
}

/** @param figures at least one */
export function spreadOf(figures: readonly number[]): Spread {
  return { median: percentile(figures, 0.5), low: Math.min(...figures), high: Math.max(...figures) };
}

/** The figure that the share of all lies at or below; of two in the middle the mean. */
export function percentile(figures: readonly number[], share: number): number {
  const sorted = [...figures].sort((one, other) => one - other);
  const rank = share * sorted.length;
  const upper = sorted[Math.min(sorted.length - 1, Math.floor(rank))] ?? NaN;
  if (share !== 0.5 || !Number.isInteger(rank)) return upper;
  return ((sorted[rank - 1] ?? NaN) + upper) / 2;
}
