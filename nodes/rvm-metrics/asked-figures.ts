import { within } from '../../lib/concurrency/timers';
import type { Inbox } from '../../lib/inbox/inbox';
import type { InboxFigures } from '../../lib/inbox/inbox-figures';

/** Whoever scrapes waits no longer for one inbox, in milliseconds. */
const PATIENCE = 1000;

/** Asks inboxes how they stand. One that hangs is asked once, however often somebody scrapes. */
export class AskedFigures {
  readonly #asking = new WeakMap<Inbox, Promise<InboxFigures | undefined>>();

  /** Undefined where it cannot say, or not in time. */
  of(inbox: Inbox): Promise<InboxFigures | undefined> {
    const asking = this.#asking.get(inbox) ?? this.#ask(inbox);
    return within(asking, PATIENCE);
  }

  #ask(inbox: Inbox): Promise<InboxFigures | undefined> {
    const asking = inbox
      .figures()
      .catch(() => undefined)
      .finally(() => this.#asking.delete(inbox));
    this.#asking.set(inbox, asking);
    return asking;
  }
}
