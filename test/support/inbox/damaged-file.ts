import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { seededChance } from './crash-images';

const HEADER = 100;

/** Overwrites a leaf page in the middle of a table. */
export function damagePage(file: string, table: string): void {
  const open = new DatabaseSync(file);
  const pages = open
    .prepare(`SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path`)
    .all(table);
  const size = Number(open.prepare('PRAGMA page_size').get()?.['page_size']);
  open.close();
  const page = Number(pages[Math.floor(pages.length / 2)]?.['pageno']);
  const handle = fs.openSync(file, 'r+');
  fs.writeSync(handle, Buffer.alloc(size, 0x5a), 0, size, (page - 1) * size);
  fs.closeSync(handle);
}

/** So many bits, over the whole file but for the header of its first page. @param seed decides which */
export function flipBits(file: string, count: number, seed = 1): void {
  const content = fs.readFileSync(file);
  const random = seededChance(seed);
  for (let flip = 0; flip < count; flip += 1) {
    const at = HEADER + Math.floor(random() * (content.length - HEADER));
    content[at] = (content[at] ?? 0) ^ (1 << (flip % 8));
  }
  fs.writeFileSync(file, content);
}
