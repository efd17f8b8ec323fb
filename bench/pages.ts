import { cellsOf, columnsOf } from './report';
import type { Result } from './results';

/** Where the table of all rows stands, in bench/README.md. */
const BEGIN = '<!-- results -->\n\n';
const END = '\n\n<!-- end of results -->';

/** A figure that a page quotes; it is shown with two digits. */
interface Quote {
  page: string;
  /** As it stands there, with `#` for the figure. */
  words: string;
  id: string;
  /** In what the row says it has measured, where several have the id. */
  row?: string;
  /** Of `seen`; without it the median. */
  seen?: string;
}

const PRODUCTION = 'docs/production.md';

export const QUOTES: readonly Quote[] = [
  { page: PRODUCTION, words: 'Alarms: about # a second', id: 'B1', seen: 'oursPerSecond' },
  { page: PRODUCTION, words: 'with metrics #, from', id: 'B14', seen: 'oursPerSecond' },
  { page: PRODUCTION, words: 'Disk: # KB an event', id: 'B9', seen: 'fileKBPerEvent' },
  { page: PRODUCTION, words: '(PostgreSQL: #)', id: 'P5', seen: 'diskKBPerEvent' },
  {
    page: PRODUCTION,
    words: 'Memory: # MB at rest',
    id: 'B11',
    row: 'none used: more memory',
    seen: 'oursMB',
  },
  { page: PRODUCTION, words: '# MB after 5,000 events', id: 'B11', row: '5000 events', seen: 'oursMB' },
  { page: PRODUCTION, words: '# MB more for 20,000 cameras', id: 'B7', row: 'memory', seen: 'oursMB' },
  { page: PRODUCTION, words: 'Start: # s more with 100,000 events', id: 'B10', row: 'kill -9' },
  { page: PRODUCTION, words: 'Package: # MiB', id: 'B11', row: 'installed' },
  { page: 'docs/several-instances.md', words: 'Disk: # KB an event', id: 'P5', seen: 'diskKBPerEvent' },
];

/** All pages that hold figures. */
export const PAGES: readonly string[] = ['bench/README.md', ...new Set(QUOTES.map(({ page }) => page))];

/** The text of a page with the figures that were measured; one that never was stays as it is. */
export function pageWith(results: readonly Result[], page: string, text: string): string {
  const quotes = QUOTES.filter((quote) => quote.page === page);
  return quotes.reduce((all, quote) => withQuote(results, quote, all), withTable(results, text));
}

function withTable(results: readonly Result[], text: string): string {
  const [from, until] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from === -1) return text;
  const table = [markdownOf(results), '', ...circumstancesOf(results)].join('\n');
  return text.slice(0, from + BEGIN.length) + table + text.slice(until);
}

function withQuote(results: readonly Result[], quote: Quote, text: string): string {
  const [before = '', after = ''] = quote.words.split('#');
  const places = [...text.matchAll(new RegExp(`(?<=${quoted(before)})[\\d.,]*\\d(?=${quoted(after)})`, 'g'))];
  if (places.length !== 1)
    throw new Error(`${quote.page} has ${places.length} places for “${quote.words}”, not one.`);
  const figure = figureOf(results, quote);
  if (figure === undefined) return text;
  const [{ 0: former, index } = { 0: '', index: 0 }] = places;
  const shown = Number(figure.toPrecision(2)).toLocaleString('en');
  return text.slice(0, index) + shown + text.slice(index + former.length);
}

function quoted(words: string): string {
  return words.replace(/[()]/g, String.raw`\$&`);
}

export function figureOf(
  results: readonly Result[],
  { id, row = '', seen }: Pick<Quote, 'id' | 'row' | 'seen'>,
): number | undefined {
  const result = results.find((each) => each.id === id && each.measured.includes(row));
  return seen === undefined ? result?.figure.median : result?.seen[seen];
}

function markdownOf(results: readonly Result[]): string {
  const [heads = [], ...lines] = columnsOf(results.map((result) => cellsOf(result)));
  const rule = heads.map((head) => '-'.repeat(head.length));
  return [heads, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** On what the rows were measured: a line for those that have all in common. */
function circumstancesOf(results: readonly Result[]): string[] {
  const ids = new Map<string, Set<string>>();
  for (const { id, on } of results) {
    const { date, node, nodeRed, platform, cores } = on;
    const words = `${date}, ${cores} cores, ${platform}, Node.js ${node}, Node-RED ${nodeRed}`;
    ids.set(words, (ids.get(words) ?? new Set()).add(id));
  }
  return [...ids].map(([words, those]) => `- ${words}: ${[...those].join(', ')}`);
}
