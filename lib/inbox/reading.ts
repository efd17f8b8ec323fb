import { forEachTimeSliced } from '../concurrency/iteration';
import { TimeoutBreaker, withTimeout } from '../concurrency/timers';
import { RvmError } from '../error';
import type { InboxState, ListQuery, ListedMessage } from './model';
import { type AnyStore, type AnyCall, type StoreCalls, storeFailed, type LeasedMessage } from './store/port';
import { listed } from './store/stored-message';

interface PatientReadingOptions {
  state: () => InboxState;
  /** True where there is something to see without the store: then nobody waits until it is open. */
  hasMore: () => boolean;
  /** Time for a store that fails to answer, in milliseconds. */
  timeoutMs: number;
}

/** What is asked of a store for somebody to see it: one that fails and hangs is not waited for. */
export class PatientReading {
  /** Open while questions are not answered that were not waited for: it is asked no other. */
  readonly #breaker = new TimeoutBreaker();

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
    if (this.#breaker.isOpen && known !== undefined) throw storeFailed(known);
    const reading = this.store.call(name, take).then((give) => ({ give }));
    for (;;) {
      const answer = await withTimeout(reading, this.options.timeoutMs);
      if (answer !== undefined) return answer.give;
      const reason = this.#fault();
      if (reason === undefined) continue;
      this.#breaker.trip(reading);
      throw storeFailed(reason);
    }
  }

  /** Why the store fails; undefined where its answer is worth waiting for, however long it takes. */
  #fault(): string | undefined {
    const { state, hasMore } = this.options;
    const { durable = !hasMore(), fault = 'it is not open yet' } = state();
    return durable ? undefined : fault;
  }
}

/** What of the inbox belongs into a list; `fault`: why it is missing. */
interface InboxRows {
  rows: LeasedMessage[];
  fault?: RvmError;
}

export async function rowsOf(reading: PatientReading, query: ListQuery): Promise<InboxRows> {
  try {
    return { rows: await reading.read('list', query) };
  } catch (error) {
    if (!(error instanceof RvmError)) throw error;
    return { rows: [], fault: error };
  }
}

/** Newest first. @param rows of one moment, those that came later first */
export async function listedOf(
  rows: LeasedMessage[],
  { limit, history }: Pick<ListQuery, 'limit' | 'history'>,
): Promise<ListedMessage[]> {
  rows.sort((one, other) => other.received - one.received);
  const messages: ListedMessage[] = [];
  // Each body is read as JSON.
  await forEachTimeSliced(rows.slice(0, limit), (row) => messages.push(listed(row, history)));
  return messages;
}
