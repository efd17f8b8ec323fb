import { isMet, type Row } from './measurement';

const HEADS = ['#', 'measured', 'against', 'median (low to high)', 'target', ''];

/** The rows as one table of text. */
export function tableOf(rows: readonly Row[]): string {
  const [heads = [], ...lines] = columnsOf(rows.map(cellsOf));
  return [heads, heads.map((head) => '-'.repeat(head.length)), ...lines]
    .map((cells) => cells.join('  ').trimEnd())
    .join('\n');
}

/** Heads and cells, all of a column equally long. */
export function columnsOf(lines: readonly string[][]): string[][] {
  const all = [HEADS, ...lines];
  const widths = HEADS.map((_, column) => Math.max(...all.map((cells) => (cells[column] ?? '').length)));
  return all.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
}

export function cellsOf(row: Row): string[] {
  const { id, measured, against, figure, unit, target } = row;
  const bound = 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`;
  const [median, low, high] = [figure.median, figure.low, figure.high].map(shown);
  return [
    id,
    measured,
    against,
    `${median} (${low} to ${high}) ${unit}`,
    `${bound} ${unit}`,
    isMet(row) ? 'met' : 'MISSED',
  ];
}

/** Three digits say all that such a figure can. */
export function shown(figure: number): string {
  if (Math.abs(figure) >= 100) return figure.toFixed(0);
  return figure.toFixed(Math.abs(figure) >= 10 ? 1 : 2);
}
