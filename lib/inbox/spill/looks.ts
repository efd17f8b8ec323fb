import { withTimeout } from '../../concurrency/timers';
import type { StorePort } from '../store/port';
import type { Known, NewMessage } from '../store/protocol';
import { messageKeyOf } from '../store/stored-message';

/** Time for a store that fails to say whether a message is known, in milliseconds: it may read what it cannot write. */
const LOOK_WITHIN = 250;

/**
 * What a store that fails knows of messages: asked of all at once, and told in the order in which they came, so that none
 * overtakes another. None waits longer than the store has for an answer, however many wait.
 */
export class KnownIdCheck {
  /** Settles when all that came until now had their turn. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** A question that was not answered in time: it is asked no other until it is. */
  #unanswered: Promise<unknown> | undefined;

  constructor(private readonly store: StorePort) {}

  /**
   * Its turn comes when all before it had theirs.
   * @param message undefined where the store need not be asked
   * @param act told what the store knows; undefined where it cannot read that now
   */
  async inTurn<Result>(
    message: NewMessage | undefined,
    act: (known: Known | undefined) => Promise<Result>,
  ): Promise<Result> {
    const looking = message && this.#look(message);
    this.#waiting += 1;
    // The next one comes when it has begun, not when it is done.
    const begun = this.#last.then(async () => {
      const known = await looking;
      this.#waiting -= 1;
      return { acting: act(known) };
    });
    this.#last = begun;
    return (await begun).acting;
  }

  /** True while some that came wait for their turn. */
  get areAhead(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when all that came until now had their turn. */
  async ended(): Promise<void> {
    await this.#last;
  }

  #look(message: NewMessage): Promise<Known | undefined> {
    if (this.#unanswered !== undefined) return Promise.resolve(undefined);
    const asking = this.store.call('look', messageKeyOf(message)).then(
      (known) => ({ known }),
      () => ({ known: undefined }),
    );
    return withTimeout(asking, LOOK_WITHIN).then((answer) => {
      if (answer === undefined) this.#hangs(asking);
      return answer?.known;
    });
  }

  #hangs(asking: Promise<unknown>): void {
    this.#unanswered = asking;
    void asking.then(() => {
      if (this.#unanswered === asking) this.#unanswered = undefined;
    });
  }
}
