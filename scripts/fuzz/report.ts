import type { Finding, Tally } from './fuzzer';

const TITLES = [
  'target',
  'inputs',
  'wrong acceptances',
  'wrong rejections',
  'wrong answers',
  'throws',
  'slowest, ms',
];
/** Bytes of an input that are printed; the seed and the number make all of it again. */
const MOST_SHOWN = 384;

/** A table with a line for each target and one for all. */
export function tableOf(tallies: readonly Tally[]): string {
  const rows = [TITLES, ...tallies.map(cellsOf), cellsOf(sumOf(tallies))];
  const widths = TITLES.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => padded(cell, widths[column] ?? 0, column)).join('  '))
    .join('\n');
}

/** Lines that tell of a finding, and how to have it again. */
export function findingText({ target, seed, number, fault, reason, input }: Finding): string {
  const shown = Buffer.from(input.subarray(0, MOST_SHOWN)).toString('base64');
  const rest = input.length > MOST_SHOWN ? ` … (${input.length} bytes)` : '';
  return `${target}: seed ${seed}, input ${number}: ${fault}: ${reason}\n  Base-64: ${shown}${rest}`;
}

export function isClean(tallies: readonly Tally[]): boolean {
  return tallies.every(({ faults }) => Object.values(faults).every((count) => count === 0));
}

function cellsOf({ target, inputs, faults, slowestMs }: Tally): string[] {
  const counts = [inputs, faults.accepted, faults.rejected, faults.wrong, faults.thrown];
  return [target, ...counts.map((count) => count.toLocaleString('en-US')), slowestMs.toFixed(1)];
}

function sumOf(tallies: readonly Tally[]): Tally {
  const faults = { accepted: 0, rejected: 0, wrong: 0, thrown: 0 };
  for (const tally of tallies) {
    faults.accepted += tally.faults.accepted;
    faults.rejected += tally.faults.rejected;
    faults.wrong += tally.faults.wrong;
    faults.thrown += tally.faults.thrown;
  }
  const inputs = tallies.reduce((sum, tally) => sum + tally.inputs, 0);
  const slowestMs = Math.max(0, ...tallies.map((tally) => tally.slowestMs));
  return { target: 'all', inputs, faults, slowestMs, findings: [] };
}

function padded(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
