import type { Spread } from './side-by-side';

/** One line of the table. */
export interface Row {
  /** Such as `B1`; one measurement may have several. */
  id: string;
  /** What was measured, and against what. */
  measured: string;
  against: string;
  figure: Spread;
  /** Of the figure: `x` for a ratio. */
  unit: 'x' | 'ms' | 's' | 'MB' | 'MiB' | 'KiB' | 'per event' | 'requests';
  target: Target;
  /** Absolute figures of this machine, in the units that their names say: they compare with nothing but each other. */
  seen: Readonly<Record<string, number>>;
}

/** The median must be there. */
export type Target = { atLeast: number } | { atMost: number };

/** How much is measured. `quick` shows only that all of it works. */
export type Scale = 'full' | 'quick';

/** A figure of the issue; gives its rows, and cleans up behind itself. */
export type Measurement = (scale: Scale) => Promise<Row[]>;

export function isMet({ figure, target }: Row): boolean {
  return 'atLeast' in target ? figure.median >= target.atLeast : figure.median <= target.atMost;
}
