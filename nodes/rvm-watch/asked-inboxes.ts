import { within } from '../../lib/concurrency/timers';
import type { InboxFigures } from '../../lib/inbox/inbox-figures';
import type { OpenInbox } from '../../lib/inbox/inboxes';
import type { InboxFacts } from '../../lib/watch/findings';
import { placeOfKey } from '../../lib/webhook/endpoint';
import { openInboxes } from '../rvm-inbox/inboxes';

/** Between two questions, and for an answer, in milliseconds. */
const ASK_EVERY = 15_000;
const PATIENCE = 5000;
/** An event of a path that another instance has waits there no longer than this, in milliseconds. */
const OWNED_WAIT = 60_000;

/** What the inboxes answered last, by their id. */
export class AskedInboxes {
  readonly #answers = new Map<string, InboxFigures>();
  #askedAt = -Infinity;
  #isAsking = false;

  /** Asks all that are open, where it is time to; an inbox that does not answer has nothing to say. */
  askInTime(): void {
    if (this.#isAsking || performance.now() - this.#askedAt < ASK_EVERY) return;
    this.#isAsking = true;
    void this.#askAll().finally(() => (this.#isAsking = false));
  }

  figuresOf({ id, inbox, place }: OpenInbox): InboxFacts['figures'] {
    const answer = this.#answers.get(id);
    if (answer === undefined) return undefined;
    const { dead, oldest } = answer;
    const isShared = place.folder === undefined;
    const ownerless = inbox
      .abandoned()
      .filter((endpoint) => !isShared || (oldest[endpoint] ?? 0) > OWNED_WAIT)
      .map((endpoint) => ({ path: placeOfKey(endpoint).path, count: inbox.waiting(endpoint) }));
    const ages = Object.values(oldest);
    return { dead, ownerless, ...(ages.length > 0 && { oldestWaiting: Math.max(...ages) }) };
  }

  /** Where one server is all there is, nobody has wanted another one; what is waited for and away lets nothing be stored. */
  standbyOf({ id, place }: OpenInbox): boolean | undefined {
    if (place.folder !== undefined) return false;
    const standby = this.#answers.get(id)?.standby;
    if (standby === undefined) return undefined;
    return standby === 'away' || (standby === 'none' && (place.servers ?? 1) > 1);
  }

  async #askAll(): Promise<void> {
    this.#askedAt = performance.now();
    const open = openInboxes();
    const ids = new Set(open.map(({ id }) => id));
    for (const id of this.#answers.keys()) if (!ids.has(id)) this.#answers.delete(id);
    await Promise.all(open.map((each) => this.#ask(each)));
  }

  async #ask({ id, inbox }: OpenInbox): Promise<void> {
    const answer = await within(inbox.figures(), PATIENCE).catch(() => undefined);
    if (answer === undefined) this.#answers.delete(id);
    else this.#answers.set(id, answer);
  }
}
