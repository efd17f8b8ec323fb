import { asError } from './as-error';

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

  /** One that fails keeps no other from being told. @throws what the first of them threw, once all have been told */
  tell(): void {
    const failures: unknown[] = [];
    for (const changed of this.#watchers) {
      try {
        changed();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw asError(failures[0]);
  }
}
