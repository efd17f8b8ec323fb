import { ChangeListeners } from '../concurrency/signals';

export interface SlotPolling {
  /** By owner: the version of what has changed last. */
  versions: (owners: string[]) => Promise<Record<string, number>>;
  /** Between two questions, in milliseconds. */
  every: number;
}

/** Who is told of changes of slots, by owner. Where others may change them, they are looked for, too: not every notice comes through. */
export class SlotListeners {
  readonly #byOwner = new Map<string, ChangeListeners>();
  readonly #known = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;
  #closed = false;

  /** @param polling absent where nobody else changes them */
  constructor(private readonly polling?: SlotPolling) {}

  add(owner: string, changed: () => void): () => void {
    const watchers = this.#byOwner.get(owner) ?? new ChangeListeners();
    this.#byOwner.set(owner, watchers);
    const remove = watchers.add(changed);
    this.#start();
    return () => {
      remove();
      if (watchers.isEmpty && this.#byOwner.get(owner) === watchers) this.#forget(owner);
    };
  }

  tell(owner: string): void {
    this.#byOwner.get(owner)?.notify();
  }

  /** After a time in which changes may have been missed. */
  tellAll(): void {
    for (const watchers of this.#byOwner.values()) watchers.notify();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#byOwner.clear();
  }

  #forget(owner: string): void {
    this.#byOwner.delete(owner);
    this.#known.delete(owner);
    if (this.#byOwner.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #start(): void {
    const { polling } = this;
    if (polling === undefined || this.#closed) return;
    this.#timer ??= setInterval(() => this.#poll(polling), polling.every).unref();
  }

  #poll(polling: SlotPolling): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    polling
      .versions([...this.#byOwner.keys()])
      .then((versions) => this.#compare(versions))
      // A store that fails is asked the next time.
      .catch(() => undefined)
      .finally(() => (this.#isAsking = false));
  }

  /** At the first look nobody knows whether it has changed since it was read. */
  #compare(versions: Readonly<Record<string, number>>): void {
    for (const owner of this.#byOwner.keys()) {
      const version = versions[owner] ?? 0;
      if (this.#known.get(owner) === version) continue;
      this.#known.set(owner, version);
      this.tell(owner);
    }
  }
}
