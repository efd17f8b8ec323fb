/**
 * Round-robin over several queues, each in order of arrival. A sender with many items in its own queue delays another queue by
 * one item a round at most.
 */
export class FairQueue<Item> {
  /** The queue that is served next is first. */
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(key: string, item: Item): void {
    const items = this.#queues.get(key);
    if (items === undefined) this.#queues.set(key, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** Removes the next item. */
  next(): Item | undefined {
    for (const [key, items] of this.#queues) {
      const item = items.shift();
      this.#queues.delete(key);
      if (items.length > 0) this.#queues.set(key, items);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  /** Removes an item that no longer waits; does nothing where it was removed before. */
  remove(key: string, item: Item): void {
    const items = this.#queues.get(key) ?? [];
    const index = items.indexOf(item);
    if (index < 0) return;
    items.splice(index, 1);
    if (items.length === 0) this.#queues.delete(key);
    this.#size -= 1;
  }

  /** Removes the last item of the longest queue; of equally long queues, of the one served last. */
  lastOfLongest(): Item | undefined {
    let longest: [string, Item[]] | undefined;
    for (const entry of this.#queues)
      if (longest === undefined || entry[1].length >= longest[1].length) longest = entry;
    const last = longest?.[1].at(-1);
    if (longest !== undefined && last !== undefined) this.remove(longest[0], last);
    return last;
  }
}

/**
 * Milliseconds of tasks in one turn of the event loop. The sockets are polled in between, so that new senders are served in the
 * next turn.
 */
const SLICE_MS = 5;

/** A task of `runLast` runs once in this many turns at least. */
const LONGEST_WAIT = 16;

/**
 * Shares the time of the main thread between queues. A task runs at once while there is time left in this turn of the event
 * loop, else in a later turn when its queue is served. Tasks of `runLast` run in turns in which no other sender comes: Node
 * accepts one connection in each turn, and the connection of an alarm may come behind hundreds of a stranger.
 */
export class RoundRobin {
  readonly #waiting = new FairQueue<() => void>();
  readonly #last = new FairQueue<() => void>();
  #spent = 0;
  #hasCome = false;
  #passedOver = 0;
  #isDue = false;

  /** @param task must not throw */
  run(key: string, task: () => void): void {
    this.#hasCome = true;
    this.#beginLater();
    if (this.#waiting.size === 0 && this.#spent < SLICE_MS) this.#do(task);
    else this.#waiting.add(key, task);
  }

  /** A sender without a task yet has come in this turn of the event loop. */
  come(): void {
    this.#hasCome = true;
  }

  /** Runs a task after all others. @param task must not throw */
  runLast(key: string, task: () => void): void {
    this.#beginLater();
    this.#last.add(key, task);
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
