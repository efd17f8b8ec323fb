import type { Answer } from '../http/answer';
import { Places } from '../../concurrency/places';

/** A refusal that was gone at the second try may be chance; so many are not. */
const OFTEN = 3;

/** Sends a request, with the cookies of the moment, once it has a place in the line, if there is one. */
type Send = (line: Places | undefined) => Promise<Answer>;

/**
 * Sends the requests of one session, also where each answer brings a cookie that makes the one before invalid. There, of
 * requests under way together only the first is served: the others are refused, not for lack of rights but for an old
 * cookie. Such a one is sent once more with the newest cookie; where that has helped some times, the session sends one
 * request at a time from then on.
 */
export class CookieRotation {
  readonly #cookies: () => string;
  readonly #line = new Places(1);
  #helped = 0;

  /** @param cookies all cookies of the session as one text, empty where there is none */
  constructor(cookies: () => string) {
    this.#cookies = cookies;
  }

  async send(send: Send): Promise<Answer> {
    const sent = this.#cookies();
    const first = await send(this.#helped < OFTEN ? undefined : this.#line);
    if (!first.refused || !this.#isRenewed(sent, first)) return first;
    const second = await send(this.#line);
    if (!second.refused) this.#helped += 1;
    return second;
  }

  /** Whether another answer has brought other cookies: a refusal with its own ends the session rather than renewing it. */
  #isRenewed(sent: string, refusal: Answer): boolean {
    return sent !== '' && this.#cookies() !== sent && refusal.header('set-cookie') === undefined;
  }
}
