/** A cell of a table; null and undefined are empty. */
export type Cell = string | number | null | undefined;

/** A cell that begins so is a formula to a spreadsheet, which may send what stands beside it anywhere. */
const FORMULA = /^[=+\-@\t\r]/;
const SPECIAL = /[",\r\n]/;

/** A line of RFC 4180 with its end. Text that a spreadsheet would take for a formula has an apostrophe in front. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  const text = typeof cell === 'string' && FORMULA.test(cell) ? `'${cell}` : String(cell);
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
