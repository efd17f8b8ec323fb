import { Watchers } from '../../concurrency/signals';

/** Those who wait for a change at a path: its endpoint comes, or can judge. A path that nobody waits at is forgotten. */
export class PathWatchers {
  readonly #ofPath = new Map<string, Watchers>();

  /** Calls back at each change; returns the way to end that. */
  add(path: string, changed: () => void): () => void {
    const watchers = this.#ofPath.get(path) ?? new Watchers();
    this.#ofPath.set(path, watchers);
    const end = watchers.add(changed);
    return () => {
      end();
      if (watchers.isEmpty && this.#ofPath.get(path) === watchers) this.#ofPath.delete(path);
    };
  }

  tell(path: string): void {
    this.#ofPath.get(path)?.tell();
  }
}
