import type { PageSource } from './pages';
import { typesOf, valuesOf, varint } from './record';
import type { Row } from '../tables/statements';
import { COLUMNS, END, type RowSource, type SalvagedTable } from './row-source';

/** Kinds, places and lengths: https://www.sqlite.org/fileformat2.html, section 1.6 */
const LEAF = 0x0d;
const FILE_HEADER = 100;
const PAGE_HEADER = 8;
/** No record of an inbox is larger, in bytes. */
const MAX_RECORD = 4 * 1024 * 1024;

/**
 * The rows that stand in the pages of a file, one page after the other, whatever has become of the schema and the trees that
 * lead to them. A page may be an old one: this is for what SQLite itself does not find.
 */
export class PageRows implements RowSource {
  constructor(private readonly pages: PageSource) {}

  *rows(table: SalvagedTable): Generator<Row> {
    for (const { page, bytes } of this.pages.all()) {
      const start = page === 1 ? FILE_HEADER : 0;
      if (bytes[start] !== LEAF) continue;
      const end = start + PAGE_HEADER + 2 * bytes.readUInt16BE(start + 3);
      for (let at = start + PAGE_HEADER; at < end && at + 2 <= bytes.length; at += 2) {
        const row = this.#row(table, bytes, bytes.readUInt16BE(at));
        if (row !== undefined) yield row;
      }
    }
  }

  /** Its table has pages of another kind. */
  meta(): undefined {
    return undefined;
  }

  #row(table: SalvagedTable, page: Buffer, at: number): Row | undefined {
    const length = varint(page, at);
    const key = length && varint(page, length.end);
    if (length === undefined || key === undefined || length.value > MAX_RECORD) return undefined;
    const local = page.subarray(key.end, key.end + this.#localLength(length.value));
    if (key.value < 1 || key.value >= END) return undefined;
    // Before the rest is read, of which a body has many pages.
    if (!isOf(table, local)) return undefined;
    const record = this.#whole(page, local, key.end, length.value);
    const values = record && valuesOf(record);
    if (values === undefined) return undefined;
    // In place of the primary key there stands nothing.
    return Object.fromEntries(
      COLUMNS[table].map((column, i) => [column, i === 0 ? key.value : (values[i] ?? null)]),
    );
  }

  #whole(page: Buffer, local: Buffer, from: number, length: number): Buffer | undefined {
    if (local.length === length) return local;
    const at = from + this.#localLength(length);
    const rest =
      at + 4 <= page.length ? this.pages.chain(page.readUInt32BE(at), length - local.length) : undefined;
    return rest && Buffer.concat([local, rest]);
  }

  /** Bytes of a record that stand in the page itself. */
  #localLength(length: number): number {
    const max = this.pages.size - 35;
    if (length <= max) return length;
    const min = Math.floor(((this.pages.size - 12) * 32) / 255) - 23;
    const wanted = min + ((length - min) % (this.pages.size - 4));
    return wanted <= max ? wanted : min;
  }
}

/** No two tables have as many values in a row. Once a step of the schema has added columns, rows from before it have fewer. */
function isOf(table: SalvagedTable, record: Buffer): boolean {
  const types = typesOf(record)?.types ?? [];
  return types[0] === 0 && types.length === COLUMNS[table].length;
}
