type Listener = (reason: Error) => void;
interface Listening {
  place: number;
  readonly call: Listener;
}

/**
 * Ends work under way, with the error that says why: AbortController and its signal, without what events cost. One call of a
 * station's client has several.
 */
export class Abort {
  #reason: Error | undefined;
  /**
   * Not a set: that leaves its former tables behind, each pointing to the next, and so all who have ever listened to one that
   * lives long would be collected late.
   */
  readonly #listeners: Listening[] = [];

  /** Why it was ended; undefined while it was not. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Only the first reason counts. */
  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const { call } of this.#listeners.splice(0)) call(reason);
  }

  /**
   * Calls back when it comes to that; at once where it already has.
   * @returns a function that ends the listening
   */
  onAbort(call: Listener): () => void {
    if (this.#reason !== undefined) {
      call(this.#reason);
      return () => undefined;
    }
    const listener = { place: this.#listeners.length, call };
    this.#listeners.push(listener);
    return () => this.#remove(listener);
  }

  /** The last one takes the place. */
  #remove(listener: Listening): void {
    if (this.#listeners[listener.place] !== listener) return;
    const last = this.#listeners.pop();
    if (last === undefined || last === listener) return;
    last.place = listener.place;
    this.#listeners[last.place] = last;
  }
}
