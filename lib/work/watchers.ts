/** Those who are told of each change of something, in the order in which they asked. */
export class Watchers {
  readonly #watchers = new Set<() => void>();

  get isEmpty(): boolean {
    return this.#watchers.size === 0;
  }

  /** Calls back at each change; returns the way to end that. */
  add(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  /** Nobody is told any more. */
  clear(): void {
    this.#watchers.clear();
  }

  tell(): void {
    for (const changed of this.#watchers) changed();
  }
}
