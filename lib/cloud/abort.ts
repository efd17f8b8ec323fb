type Listener = (reason: Error) => void;

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
  readonly #listeners: { place: number; call: Listener }[] = [];

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
   * @returns a function that ends the listening, to be called once
   */
  onAbort(call: Listener): () => void {
    if (this.#reason !== undefined) call(this.#reason);
    const listener = { place: this.#listeners.length, call };
    this.#listeners.push(listener);
    return () => this.#remove(listener.place);
  }

  /** The last one takes the place. */
  #remove(place: number): void {
    const last = this.#listeners.pop();
    if (last === undefined || last.place === place) return;
    last.place = place;
    this.#listeners[place] = last;
  }
}
