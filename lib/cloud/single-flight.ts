import type { Operation } from './operation';

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
  readonly #running = new Map<string, Promise<T>>();

  /** As `SingleFlight.run`, for the work of this key. */
  run(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    return operation.waitFor(this.#running.get(key) ?? this.#start(key, operation, work));
  }

  running(key: string): Promise<T> | undefined {
    return this.#running.get(key);
  }

  #start(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    const running = work(operation.shared());
    const clear = () => this.#running.delete(key);
    this.#running.set(key, running);
    void running.then(clear, clear);
    return running;
  }
}
