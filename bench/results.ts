import { isMet, type Row } from './measurement';

/** What a row was measured on: one file may hold rows of several days and machines. */
export interface Circumstances {
  /** Such as `2026-11-22`. */
  date: string;
  node: string;
  nodeRed: string;
  platform: string;
  cores: number;
}

/** A row of `results.json`. */
export type Result = Row & { met: boolean; on: Circumstances };

/** What `results.json` holds once a measurement has been made anew: its rows in the place of those it had. */
export function withRows(
  results: readonly Result[],
  rows: readonly Row[],
  { on, order }: { on: Circumstances; order: readonly string[] },
): Result[] {
  const ids = new Set(rows.map(({ id }) => id));
  const others = results.filter(({ id }) => !ids.has(id) && order.includes(id));
  const all = [...others, ...rows.map((row) => ({ ...row, met: isMet(row), on }))];
  return all.toSorted((one, other) => order.indexOf(one.id) - order.indexOf(other.id));
}

/** As the text of the file. */
export function textOf(results: readonly Result[]): string {
  return `${JSON.stringify({ results }, rounded, 2)}\n`;
}

export function resultsIn(text: string): Result[] {
  return (JSON.parse(text) as { results: Result[] }).results;
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value;
}
