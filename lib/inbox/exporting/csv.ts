/** A cell of a table; null and undefined are empty. */
export type Cell = string | number | null | undefined;

/** A cell that begins so is a formula to a spreadsheet, which may send what stands beside it anywhere. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
/** Means something to a terminal, or is left out before a formula is looked for. */
const CONTROL = /[^\P{Cc}\t\r\n]/gu;
const SPECIAL = /[",\r\n]/;

/** A line of RFC 4180 with its end. Text that a spreadsheet would take for a formula has an apostrophe in front; a control character is U+FFFD. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  const clean = String(cell).replace(CONTROL, '\uFFFD');
  const text = typeof cell === 'string' && FORMULA.test(clean) ? `'${clean}` : clean;
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
