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

/** Milliseconds of one turn of the event loop: the sockets are asked in between, so that who comes now has the next turn. */
const SLICE_MS = 5;

/** Of what can wait there is one task in so many turns at least. */
const LONGEST_WAIT = 16;

/**
 * Shares the time of the main thread between lines: a task runs at once while there is time left in this turn of the event loop,
 * else it waits for its line's turn in a later one. What can wait has a turn in which nobody else comes: Node accepts one connection
 * in each, and behind hundreds of a stranger may stand that of an alarm.
 */
export class RoundRobin {
  readonly #waiting = new FairQueue<() => void>();
  readonly #last = new FairQueue<() => void>();
  #spent = 0;
  #hasCome = false;
  #passedOver = 0;
  #isDue = false;

  /** @param task must not throw */
  run(line: string, task: () => void): void {
    this.#hasCome = true;
    this.#beginLater();
    if (this.#waiting.size === 0 && this.#spent < SLICE_MS) this.#do(task);
    else this.#waiting.add(line, task);
  }

  /** Somebody has come in this turn of the event loop who has no task yet. */
  come(): void {
    this.#hasCome = true;
  }

  /** Behind all others. @param task must not throw */
  runLast(line: string, task: () => void): void {
    this.#beginLater();
    this.#last.add(line, task);
  }

  #beginLater(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isDue = false;
    this.#spent = 0;
    if (this.#waiting.size + this.#last.size === 0) return;
    this.#beginLater();
    while (this.#spent < SLICE_MS && this.#doNext(this.#waiting));
    this.#passedOver = this.#hasCome ? this.#passedOver + 1 : LONGEST_WAIT;
    this.#hasCome = this.#waiting.size > 0;
    if (this.#passedOver < LONGEST_WAIT) return;
    this.#passedOver = 0;
    this.#doNext(this.#last);
  }

  #doNext(queue: FairQueue<() => void>): boolean {
    const task = queue.next();
    if (task !== undefined) this.#do(task);
    return task !== undefined;
  }

  #do(task: () => void): void {
    const began = performance.now();
    task();
    this.#spent += performance.now() - began;
  }
}
