import type { Operation } from './operation';

/** Runs a piece of work once, however many operations ask for it while it is under way. */
export class SingleFlight<T> {
  #running: Promise<T> | undefined;

  /** Joins the work under way or starts it; a caller who gives up leaves the others undisturbed. */
  run(operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    return operation.waitFor(this.#running ?? this.#start(operation, work));
  }

  /** The work under way, if any. */
  get running(): Promise<T> | undefined {
    return this.#running;
  }

  #start(operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    const running = work(operation.shared());
    const clear = () => {
      if (this.#running === running) this.#running = undefined;
    };
    this.#running = running;
    void running.then(clear, clear);
    return running;
  }
}

/** The same for work that differs by a key, such as the id of a camera. */
export class KeyedFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    return operation.waitFor(this.#running.get(key) ?? this.#start(key, operation, work));
  }

  #start(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    const running = work(operation.shared());
    const clear = () => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    this.#running.set(key, running);
    void running.then(clear, clear);
    return running;
  }
}
