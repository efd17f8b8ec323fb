import type { Answer } from './answer';
import { InTurn } from './in-turn';
import type { Operation } from './operation';

/**
 * Sends the requests of one session, also where each answer brings a cookie that makes the one before invalid. There, of
 * requests under way together only the first is served: the others are refused, not for lack of rights but for an old
 * cookie. Such a one is sent once more with the newest cookie; where that helps, the session sends one request at a time
 * from then on.
 */
export class CookieRotation {
  readonly #cookies: () => string;
  readonly #turns = new InTurn();
  #oneAtATime = false;

  /** @param cookies all cookies of the session as one text, empty where there is none */
  constructor(cookies: () => string) {
    this.#cookies = cookies;
  }

  /** @param send sends the request, with the cookies of the moment */
  async send(operation: Operation, send: () => Promise<Answer>): Promise<Answer> {
    const first = await this.#try(operation, send);
    if (!first.outdated) return first.answer;
    const second = await this.#inTurn(operation, send);
    if (!second.answer.refused) this.#oneAtATime = true;
    return second.answer;
  }

  #try(operation: Operation, send: () => Promise<Answer>): Promise<Attempt> {
    return this.#oneAtATime ? this.#inTurn(operation, send) : this.#attempt(send);
  }

  #inTurn(operation: Operation, send: () => Promise<Answer>): Promise<Attempt> {
    return this.#turns.run('', operation, () => this.#attempt(send));
  }

  async #attempt(send: () => Promise<Answer>): Promise<Attempt> {
    const sent = this.#cookies();
    const answer = await send();
    // A refusal with cookies of its own ends the session rather than renewing it.
    const renewed = sent !== '' && this.#cookies() !== sent && answer.header('set-cookie') === undefined;
    return { answer, outdated: answer.refused && renewed };
  }
}

interface Attempt {
  answer: Answer;
  /** Refused, and another answer has brought other cookies since it was sent. */
  outdated: boolean;
}
