import { isMet, type Row } from './measurement';

const HEADS = ['', 'measured', 'against', 'median (low to high)', 'target', ''];

/** The rows as one table of text. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [HEADS, ...rows.map(cellsOf)];
  const widths = HEADS.map((_, column) => Math.max(...lines.map((cells) => (cells[column] ?? '').length)));
  const text = lines.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return [text[0], widths.map((width) => '-'.repeat(width)).join('  '), ...text.slice(1)]
    .map((line) => (line ?? '').trimEnd())
    .join('\n');
}

function cellsOf(row: Row): string[] {
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

/** What is written to `results.json`. */
export function resultsOf(rows: readonly Row[], circumstances: Readonly<Record<string, unknown>>): string {
  const results = rows.map((row) => ({ ...row, met: isMet(row) }));
  return `${JSON.stringify({ ...circumstances, results }, rounded, 2)}\n`;
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value;
}
