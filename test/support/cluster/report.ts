import type { Tally } from './tally';

/** Prints what became of all that was sent in a scenario, and what else was measured. */
export function report(scenario: string, tally: Tally, further: Record<string, number | string> = {}): void {
  const { again, unmarked, outOfOrder, ...counts } = tally;
  const all = {
    ...counts,
    'handed over again': again,
    'of these unmarked': unmarked,
    'out of order': outOfOrder,
    ...further,
  };
  const parts = Object.entries(all).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`${scenario}: ${parts.join(', ')}\n`);
}
