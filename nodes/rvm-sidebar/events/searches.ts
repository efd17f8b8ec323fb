/** Each search reads much: they go one after the other, and those who look for the same at the same time have one for all. */
export class Searches {
  #last: Promise<unknown> = Promise.resolve();
  readonly #running = new Map<string, Promise<unknown>>();

  /** @param wanted what tells this search from others; the same is answered by the same kind of answer */
  run<Answer>(wanted: string, search: () => Promise<Answer>): Promise<Answer> {
    const running = this.#running.get(wanted);
    if (running !== undefined) return running as Promise<Answer>;
    const answer = this.#last.then(search).finally(() => this.#running.delete(wanted));
    this.#running.set(wanted, answer);
    this.#last = answer.catch(() => undefined);
    return answer;
  }
}
