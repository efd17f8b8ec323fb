import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

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
