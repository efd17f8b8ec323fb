import { RvmError } from '../../error';
import type { Operation } from '../operation';

/** Runs work of one key one after the other, in the order asked; what differs by key does not wait for each other. */
export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs the work when what was asked before for this key has ended, however it ended.
   * @param patienceMs work whose turn has not come by then is not done at all: it would come too late
   * @throws RvmError TIMEOUT, CANCELLED if the caller gives up before its turn
   */
  async run<T>(key: string, operation: Operation, patienceMs: number, work: () => Promise<T>): Promise<T> {
    const asked = performance.now();
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(() => {
      operation.checkAlive();
      if (performance.now() - asked > patienceMs) throw tooLate();
      return work();
    });
    const ended = mine.catch(() => undefined);
    this.#last.set(key, ended);
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    await operation.waitFor(before);
    // From here on the work itself heeds its operation, and knows best what becomes of it.
    return mine;
  }
}

function tooLate(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'Earlier commands to this camera took so long that this one was not sent; send it again if it is still wanted.',
  );
}
