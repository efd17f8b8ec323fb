/**
 * What waits, served in turns: the first of each line when it is the line's turn, and in a line in the order in which they came.
 * So one who has many in line keeps nobody else waiting longer than one of them takes.
 */
export class FairQueue<Item> {
  /** The line whose turn it is stands first. */
  readonly #lines = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(line: string, item: Item): void {
    const items = this.#lines.get(line);
    if (items === undefined) this.#lines.set(line, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** Takes out the next. */
  next(): Item | undefined {
    for (const [line, items] of this.#lines) {
      const item = items.shift();
      this.#lines.delete(line);
      if (items.length > 0) this.#lines.set(line, items);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  /** Takes out one that waits no more; nothing where it has been taken out before. */
  remove(line: string, item: Item): void {
    const items = this.#lines.get(line) ?? [];
    const place = items.indexOf(item);
    if (place < 0) return;
    items.splice(place, 1);
    if (items.length === 0) this.#lines.delete(line);
    this.#size -= 1;
  }

  /** Takes out the last of the longest line; of lines that are as long, of the one whose turn comes last. */
  lastOfLongest(): Item | undefined {
    let longest: [string, Item[]] | undefined;
    for (const entry of this.#lines)
      if (longest === undefined || entry[1].length >= longest[1].length) longest = entry;
    const last = longest?.[1].at(-1);
    if (longest !== undefined && last !== undefined) this.remove(longest[0], last);
    return last;
  }
}
