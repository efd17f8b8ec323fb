import { withTimeout } from '../concurrency/timers';
import type { InboxState } from './inbox';
import { storeFailed, type AnyStore } from './store/port';
import type { AnyCall, StoreCalls } from './store/protocol';

export interface PatientReadingOptions {
  state: () => InboxState;
  /** True where there is something to see without the store: then nobody waits until it is open. */
  hasMore: () => boolean;
  /** Time for a store that fails to answer, in milliseconds. */
  patience: number;
}

/** What is asked of a store for somebody to see it: one that fails and hangs is not waited for. */
export class PatientReading {
  /** Questions that were not waited for: it is asked no other until it has answered them. */
  #unanswered = 0;

  constructor(
    private readonly store: AnyStore,
    private readonly options: PatientReadingOptions,
  ) {}

  /** @throws RvmError STORE_FAILED */
  async read<Name extends AnyCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    const known = this.#fault();
    if (this.#unanswered > 0 && known !== undefined) throw storeFailed(known);
    const reading = this.store.call(name, take).then((give) => ({ give }));
    for (;;) {
      const answer = await withTimeout(reading, this.options.patience);
      if (answer !== undefined) return answer.give;
      const reason = this.#fault();
      if (reason !== undefined) throw this.#givenUp(reading, reason);
    }
  }

  /** Why the store fails; undefined where its answer is worth waiting for, however long it takes. */
  #fault(): string | undefined {
    const { state, hasMore } = this.options;
    const { durable = !hasMore(), fault = 'it is not open yet' } = state();
    return durable ? undefined : fault;
  }

  #givenUp(reading: Promise<unknown>, reason: string): Error {
    this.#unanswered += 1;
    void reading.catch(() => undefined).then(() => (this.#unanswered -= 1));
    return storeFailed(reason);
  }
}
