import type { Operation } from './operation';

/** Runs work of one key one after the other, in the order asked; what differs by key does not wait for each other. */
export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs the work when what was asked before for this key has ended, however it ended.
   * @throws RvmError CANCELLED or TIMEOUT if the caller gives up before its turn
   */
  async run<T>(key: string, operation: Operation, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(() => {
      operation.checkAlive();
      return work();
    });
    const ended = mine.catch(() => undefined);
    this.#last.set(key, ended);
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    return operation.waitFor(mine);
  }
}
