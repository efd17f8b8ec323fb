import type { Operation } from './operation';
import { SharedOperation } from './shared-operation';

interface Flight<T> {
  readonly shared: SharedOperation;
  readonly work: Promise<T>;
}

/** Runs a piece of work once, however many operations ask for it while it is under way. */
export class SingleFlight<T> {
  readonly #flight = new KeyedFlight<T>();

  /** Joins the work under way or starts it; a caller who gives up leaves the others undisturbed. */
  run(operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    return this.#flight.run('', operation, work);
  }

  /** The work under way, if any. */
  get running(): Promise<T> | undefined {
    return this.#flight.running('');
  }
}

/** The same for work that differs by a key, such as the id of a camera. */
export class KeyedFlight<T> {
  readonly #running = new Map<string, Flight<T>>();

  /** As `SingleFlight.run`, for the work of this key. */
  run(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    const { shared, work: running } = this.#running.get(key) ?? this.#start(key, operation, work);
    return shared.join(operation, running);
  }

  running(key: string): Promise<T> | undefined {
    return this.#running.get(key)?.work;
  }

  #start(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Flight<T> {
    const shared = new SharedOperation(operation);
    const flight = { shared, work: work(shared) };
    const clear = () => this.#running.delete(key);
    this.#running.set(key, flight);
    void flight.work.then(clear, clear);
    return flight;
  }
}
