import { type Line, Turns } from '../../concurrency/semaphore';
import type { Answer } from '../http/answer';
import type { Attempt } from '../http/attempt';
import type { Operation } from '../operation';

/** A refusal that was gone at the second try may be chance; so many are not. */
const OFTEN = 3;

/** Sends a request, with the cookies of the moment, once its turn has come. */
type Send = (line: Line) => Promise<Answer>;

/** What is sent. */
export interface Tried {
  readonly attempt: Attempt;
  /** A refusal would be taken as one of rights: then it is looked at more closely. */
  readonly isLast?: boolean;
  /** It begins the session: that it brings cookies says nothing of later ones. */
  readonly isLogin?: boolean;
  /** Whether an answer of success is one that nobody gets who is logged in: then it counts as a refusal. */
  readonly isLoggedOut?: ((answer: Answer) => boolean) | undefined;
}

/** An answer, and what a refusal says. */
export interface Judged {
  readonly answer: Answer;
  /** Also where the answer does not say so, but is one to somebody who is not logged in. */
  readonly isRefused: boolean;
  /** Whether it was given to the newest cookie there was: else it says nothing about rights. */
  readonly isCertain: boolean;
}

/**
 * Whether a refusal is a question of rights, where a new session does not help. What is only answered as to somebody who is not
 * logged in never is: the login has been shown more.
 */
export function isQuestionOfRights({ answer, isCertain }: Judged): boolean {
  return isCertain && answer.refused;
}

/** What the sessions of one Central Station have learned of its cookies. */
export class RotationMemory {
  /** So often a request was served with the newest cookie that was refused with the one before. */
  #helped = 0;
  /** So many requests are under way of which it is not known why they were refused. */
  #doubts = 0;
  /** Whether an answer has ever brought other cookies than its request had, but for those of a login. */
  hasRotated = false;

  /** Whether sessions send one request at a time. */
  get isStrict(): boolean {
    return this.#doubts > 0 || this.#helped >= OFTEN;
  }

  hasHelped(): void {
    this.#helped += 1;
  }

  /** From now on, until the returned function is called, all go one at a time: then a refusal is certain. */
  doubt(): () => void {
    this.#doubts += 1;
    return () => void (this.#doubts -= 1);
  }
}

/**
 * Sends the requests of one session, also where each answer brings a cookie that makes the one before invalid. There, of
 * requests under way together only the first is served: the others are refused, not for lack of rights but for an old
 * cookie. Such a one is sent once more, alone and with the newest cookie; where that has helped some times, all go alone.
 */
export class CookieRotation {
  readonly #cookies: () => string;
  readonly #memory: RotationMemory;
  readonly #turns = new Turns();
  readonly #underWay = new Map<Attempt, Promise<unknown>>();
  /** Whether an answer of this session has brought other cookies than its request had. */
  #rotates = false;
  /** Whether the newest cookie here is the newest that has come. */
  #isInStep = true;
  /** Whether an answer was never read: it may have brought a newer cookie, or may still do so at the service. */
  #hasLostAnswers = false;

  /** @param cookies all cookies of the session as one text, empty where there is none */
  constructor(cookies: () => string, memory: RotationMemory) {
    this.#cookies = cookies;
    this.#memory = memory;
  }

  async send(operation: Operation, tried: Tried, send: Send): Promise<Judged> {
    const alone = this.#memory.isStrict;
    const first = await this.#sendOnce(tried, alone, send);
    // What a service refuses for its size it has not looked at.
    if (!first.isRefused || first.answer.isHeadTooLarge || alone) return first;
    if (!(await this.#isOld(operation, tried, first.answer))) return first;
    const second = await this.#sendOnce(tried, true, send);
    if (!second.isRefused) this.#memory.hasHelped();
    return second;
  }

  /** Does work while no request of this session is under way. */
  async whileQuiet<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    const leave = await operation.takeTurn(this.#turns.alone);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  async #sendOnce({ attempt, isLogin, isLoggedOut }: Tried, alone: boolean, send: Send): Promise<Judged> {
    attempt.hasChangedCookies = false;
    const sending = send(alone ? this.#turns.alone : this.#turns.together);
    this.#underWay.set(
      attempt,
      sending.catch(() => undefined),
    );
    try {
      const answer = await sending;
      // Where cookies stay as they are, a refusal is never that of an old one.
      const isCertain = !this.#memory.hasRotated || (alone && this.#isInStep && !this.#hasLostAnswers);
      const isRefused = answer.refused || (answer.ok && isLoggedOut?.(answer) === true);
      if (!isLogin) this.#learn(attempt, alone, isRefused);
      return { answer, isRefused, isCertain };
    } catch (error) {
      if (attempt.isSent && !attempt.isAnswered) this.#hasLostAnswers = true;
      throw error;
    } finally {
      this.#underWay.delete(attempt);
    }
  }

  #learn(attempt: Attempt, alone: boolean, isRefused: boolean): void {
    if (!isRefused && attempt.cookies !== '' && attempt.hasChangedCookies) {
      this.#rotates = true;
      this.#memory.hasRotated = true;
    }
    if (alone && !isRefused) this.#isInStep = true;
    else if (attempt.hasChangedCookies && (isRefused || this.#othersAreOut(attempt))) this.#isInStep = false;
  }

  #othersAreOut(attempt: Attempt): boolean {
    return [...this.#underWay.keys()].some((other) => other !== attempt && other.isSent);
  }

  /** Whether the cookie of a refused request was old when it was sent or answered. */
  async #isOld(operation: Operation, { attempt, isLast }: Tried, refusal: Answer): Promise<boolean> {
    const hasNewer = (): boolean => this.#cookies() !== attempt.cookies;
    // One that brings cookies of its own ends the session rather than renewing it.
    if (attempt.cookies === '' || refusal.header('set-cookie') !== undefined) return false;
    if (hasNewer() || !(this.#rotates || isLast === true)) return hasNewer();
    // The answer that has made it old may still be on its way.
    const others = [...this.#underWay].filter(([other]) => other.isSent).map(([, sending]) => sending);
    await operation.waitFor(Promise.all(others));
    return hasNewer();
  }
}
