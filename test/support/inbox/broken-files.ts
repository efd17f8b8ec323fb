import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The unit that a disk writes whole, in bytes. */
const SECTOR = 512;

export type Step =
  | { kind: 'write'; file: string; bytes: Buffer; at: number }
  | { kind: 'truncate'; file: string; size: number }
  | { kind: 'sync'; file: string }
  /** What the program told the world. */
  | { kind: 'told'; text: string };

/** System calls of a program, from what `strace -f -y -xx` wrote down about it; those on files of one folder alone. */
export function stepsIn(trace: string, folder: string): Step[] {
  const steps: Step[] = [];
  for (const line of trace.split('\n')) {
    const call = /^\d+ +(\w+)\((\d+)<([^>]*)>(?:, (?:"([^"]*)"(\.\.\.)?, )?([\d, ]*))?/.exec(line);
    if (call === null) continue;
    const [, name, fd, place, data, isCut, numbers = ''] = call;
    const target = unescaped(place).toString();
    const bytes = unescaped(data);
    const last = Number(numbers.split(', ').at(-1));
    const file = path.basename(target);
    if (name === 'write' && fd === '1') steps.push({ kind: 'told', text: bytes.toString() });
    if (path.dirname(target) !== folder) continue;
    assert.equal(isCut, undefined, 'strace has shortened the data');
    if (name === 'pwrite64') steps.push({ kind: 'write', file, bytes, at: last });
    else if (name === 'ftruncate') steps.push({ kind: 'truncate', file, size: last });
    else if (name === 'fsync' || name === 'fdatasync') steps.push({ kind: 'sync', file });
  }
  return steps;
}

function unescaped(text = ''): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}

/**
 * What may be on the disk after the power went off behind some steps: all that was synced, and of the rest any part, of
 * a single write perhaps only some sectors. By file.
 * @param chance a random number from 0 to 1
 */
export function crashImage(steps: readonly Step[], chance: () => number): Map<string, Buffer> {
  const lastSync = new Map<string, number>();
  for (const [index, step] of steps.entries()) if (step.kind === 'sync') lastSync.set(step.file, index);
  const keeps = chance();
  const image = new Map<string, Content>();
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'told' || step.kind === 'sync') continue;
    const isSynced = index < (lastSync.get(step.file) ?? -1);
    if (!isSynced && chance() > keeps) continue;
    const content = image.get(step.file) ?? new Content();
    image.set(step.file, content);
    const isTorn = !isSynced && chance() < 0.5;
    if (step.kind === 'truncate') content.resize(step.size);
    else content.write(step.bytes, step.at, () => !isTorn || chance() < 0.5);
  }
  return new Map([...image].map(([file, content]) => [file, content.bytes()]));
}

/** A file in memory. */
class Content {
  #room = Buffer.alloc(64 * 1024);
  #size = 0;

  bytes(): Buffer {
    return this.#room.subarray(0, this.#size);
  }

  resize(size: number): void {
    if (size > this.#room.length) this.#room = Buffer.concat([this.#room], size * 2);
    this.#room.fill(0, Math.min(size, this.#size), Math.max(size, this.#size));
    this.#size = size;
  }

  write(bytes: Buffer, at: number, hasSector: () => boolean): void {
    const end = at + bytes.length;
    if (end > this.#size) this.resize(end);
    for (let from = at; from < end;) {
      const to = Math.min(end, (Math.floor(from / SECTOR) + 1) * SECTOR);
      if (hasSector()) bytes.copy(this.#room, from, from - at, to - at);
      from = to;
    }
  }
}

/** Random numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seededChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

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
