import {
  type LocalCall,
  type StoreCalls,
  type StoreEvents,
  storeFailed,
  type StorePort,
} from '../store/port';
import { faultText, IN_MEMORY } from './database';
import { Store } from './store';

/** A store in the memory of this thread, where no file can be written. */
export class MemoryStore implements StorePort {
  readonly #store = new Store({ file: IN_MEMORY, resumed: false, isSpare: true });

  constructor(news: StoreEvents) {
    queueMicrotask(() => news.onOpened(this.#store.opened));
  }

  async call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    try {
      return this.#store.transaction(() => this.#store.work[name](take));
    } catch (error) {
      throw storeFailed(faultText(error));
    }
  }

  async close(): Promise<void> {
    this.#store.close();
  }
}
