import fs from 'node:fs';
import { PAGE } from '../open';
import type { Frame } from './log-frames';

/** Offsets and limits: https://www.sqlite.org/fileformat2.html, section 1.3 */
const PAGE_SIZE_AT = 16;
const FIRST_FREE_AT = 32;
const MIN_PAGE = 512;

/** Where the pages of a database stand. */
export interface PageSource {
  /** Bytes of a page. */
  readonly size: number;
  /** All of them, old ones too, the newest first. */
  all: () => Iterable<{ page: number; bytes: Buffer }>;
  /** What begins in a page and goes on in pages of its own; undefined where these lead nowhere. @param first the number of the first of them */
  chain: (first: number, length: number) => Buffer | undefined;
}

/** The pages of a database, by their numbers from 1 on, read without SQLite. */
export class RawPages implements PageSource {
  readonly size: number;
  readonly #count: number;
  readonly #handle: number;

  /** @throws Error of the disk */
  constructor(file: string) {
    this.#handle = fs.openSync(file, 'r');
    this.size = MIN_PAGE;
    this.size = pageSizeIn(this.read(1));
    this.#count = Math.floor(fs.fstatSync(this.#handle).size / this.size);
  }

  /** But for those whose rows were deleted. */
  *all(): Generator<{ page: number; bytes: Buffer }> {
    const free = this.#free();
    for (let page = 1; page <= this.#count; page += 1)
      if (!free.has(page)) yield { page, bytes: this.read(page) };
  }

  /** Zeros beyond the end. */
  read(page: number): Buffer {
    const bytes = Buffer.alloc(this.size);
    fs.readSync(this.#handle, bytes, 0, this.size, (page - 1) * this.size);
    return bytes;
  }

  chain(first: number, length: number): Buffer | undefined {
    return chained(first, length, (page) => (page > this.#count ? undefined : this.read(page)));
  }

  /** As far as their list can be read. */
  #free(): ReadonlySet<number> {
    const free = new Set<number>();
    let trunk = this.read(1).readUInt32BE(FIRST_FREE_AT);
    while (trunk > 1 && trunk <= this.#count && !free.has(trunk)) {
      free.add(trunk);
      const bytes = this.read(trunk);
      const leaves = Math.min(bytes.readUInt32BE(4), this.size / 4 - 2);
      for (let leaf = 0; leaf < leaves; leaf += 1) free.add(bytes.readUInt32BE(8 + 4 * leaf));
      trunk = bytes.readUInt32BE(0);
    }
    return free;
  }

  close(): void {
    fs.closeSync(this.#handle);
  }
}

/** The pages that stand in a log, over those of its file. */
export class WalPages implements PageSource {
  readonly #newest: Map<number, Buffer>;

  constructor(
    private readonly frames: readonly Frame[],
    private readonly pages: RawPages,
  ) {
    this.#newest = new Map(frames.map(({ page, bytes }) => [page, bytes]));
  }

  get size(): number {
    return this.frames[0]?.bytes.length ?? this.pages.size;
  }

  all(): Frame[] {
    return this.frames.toReversed();
  }

  chain(first: number, length: number): Buffer | undefined {
    return chained(first, length, (page) => this.#newest.get(page) ?? this.pages.read(page));
  }
}

function chained(
  first: number,
  length: number,
  read: (page: number) => Buffer | undefined,
): Buffer | undefined {
  const parts: Buffer[] = [];
  let page = first;
  for (let left = length; left > 0;) {
    const bytes = page < 2 ? undefined : read(page);
    if (bytes === undefined) return undefined;
    parts.push(bytes.subarray(4, 4 + left));
    left -= bytes.length - 4;
    page = bytes.readUInt32BE(0);
  }
  return Buffer.concat(parts);
}

/** Where the first page is damaged, as files of this version have it. */
function pageSizeIn(header: Buffer): number {
  const size = header.readUInt16BE(PAGE_SIZE_AT);
  return size >= MIN_PAGE && Number.isInteger(Math.log2(size)) ? size : PAGE;
}
