import { type Lock, ReadWriteLock } from '../../concurrency/semaphore';
import { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import type { Origins } from '../http/origins';
import { SessionCookies } from '../http/session-cookies';
import { metered, type ServiceRequest, type Transport } from '../http/transport';
import { Attempt, type Operation } from '../operation';

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Those that say that the request was not carried out, and is to be sent elsewhere as it is. */
const ELSEWHERE: ReadonlySet<number> = new Set([307, 308]);
const WRONG_METHOD = 405;

/** Requests that share one cookie jar. */
export class HttpSession {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #cookies: SessionCookies;
  readonly #memory: CookieRotationState;
  readonly #rotation: CookieRotation;

  /** With an empty jar: a late answer to an old session cannot spoil the cookies of the new one. */
  constructor(transport: Transport, origins: Origins, memory: CookieRotationState) {
    this.#transport = transport;
    this.#origins = origins;
    this.#cookies = new SessionCookies(origins.system.origin);
    this.#memory = memory;
    this.#rotation = new CookieRotation(() => this.#cookies.text, memory);
  }

  /** The same connections with an empty cookie jar. */
  fresh(): HttpSession {
    return new HttpSession(this.#transport, this.#origins, this.#memory);
  }

  get hasCookie(): boolean {
    return this.#cookies.values.length > 0;
  }

  /** The login has succeeded: the cookies of now are those of the session. */
  loggedIn(): void {
    this.#cookies.loggedIn();
  }

  /**
   * Sends a request. Redirects of a GET are followed, and those of others that say they were not carried out, each hop only to an
   * origin we trust; one that names its other method in a 405 is sent once with that. Other answers are given back as they are.
   * @throws RvmError UNTRUSTED_LINK as well
   */
  async exchange(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    return (await this.try(operation, wanted, { attempt: new Attempt() })).answer;
  }

  /** The same as one of several attempts, and whether a refusal is certain. */
  async try(
    operation: Operation,
    { otherMethod, ...wanted }: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer> {
    const judged = await this.#send(operation, wanted, tried);
    const { answer } = judged;
    if (otherMethod === undefined || !names(answer, otherMethod)) return judged;
    // Redirects may have led to where it was refused.
    const url = this.#origins.resolve(answer.url.href, answer.url, wanted.relation);
    // It asks for no more than the first did.
    return this.#send(operation, { kind: 'GET', ...wanted, url, method: otherMethod }, tried);
  }

  /** Where what it had besides the cookies of the login was too much, it is sent once more without. */
  async #send(operation: Operation, wanted: ServiceRequest, tried: AttemptOptions): Promise<CheckedAnswer> {
    const first = await this.#sendOnce(operation, wanted, tried);
    if (!this.#wasTooMuch(first, tried)) return first;
    const second = await this.#sendOnce(operation, wanted, tried);
    // Its answer may have brought others again.
    if (second.answer.isHeadTooLarge) this.#cookies.dropOthers();
    return second;
  }

  #wasTooMuch({ answer }: CheckedAnswer, { attempt }: AttemptOptions): boolean {
    return answer.isHeadTooLarge && this.#cookies.dropOthers() && attempt.cookies !== this.#cookies.text;
  }

  #sendOnce(operation: Operation, wanted: ServiceRequest, tried: AttemptOptions): Promise<CheckedAnswer> {
    const { attempt } = tried;
    const isLogin = wanted.kind === 'login';
    return this.#rotation.send(operation, { ...tried, isLogin }, (line) =>
      this.#followRedirects(operation, wanted, { attempt, line }),
    );
  }

  /**
   * Does work while none of its requests is under way, where they go one at a time: a service that knows one cookie for a user
   * would take the answer to the old session for the newest one.
   */
  whileQuiet<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    return this.#memory.isStrict ? this.#rotation.whileQuiet(operation, work) : work();
  }

  async #followRedirects(
    operation: Operation,
    wanted: ServiceRequest,
    { attempt, line }: { attempt: Attempt; line: Lock },
  ): Promise<Answer> {
    const followed = wanted.method === 'GET' ? REDIRECTS : ELSEWHERE;
    let url = wanted.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const via = { attempt, line, cookies: this.#cookies };
      const sending = this.#transport.send(operation, { ...wanted, url }, via);
      const answer = await metered(this.#transport.key, sending);
      if (!followed.has(answer.status) || answer.location === undefined) return answer;
      url = this.#origins.resolve(answer.location, answer.url, wanted.relation);
    }
    throw new RvmError(
      'BAD_RESPONSE',
      'The service redirects without end; check the base URL of the cloud.',
      { relation: wanted.relation, attempts: attempt.number },
    );
  }
}

/** True where a resource refuses the method of a request, and says that it takes this one (RFC 9110, section 15.5.6). */
function names(answer: Answer, method: string): boolean {
  const allowed = answer.status === WRONG_METHOD ? (answer.header('allow') ?? '') : '';
  return allowed.split(',').some((name) => name.trim().toUpperCase() === method);
}

/** A refusal that was gone at the second try may be chance; so many are not. */
const OFTEN = 3;

/** Sends a request, with the cookies of the moment, once its turn has come. */
type Send = (line: Lock) => Promise<Answer>;

/** What is sent. */
export interface AttemptOptions {
  readonly attempt: Attempt;
  /** A refusal would be taken as one of rights: then it is looked at more closely. */
  readonly isLast?: boolean;
  /** It begins the session: that it brings cookies says nothing of later ones. */
  readonly isLogin?: boolean;
  /** Whether an answer of success is one that nobody gets who is logged in: then it counts as a refusal. */
  readonly isLoggedOut?: ((answer: Answer) => boolean) | undefined;
}

/** An answer, and what a refusal says. */
export interface CheckedAnswer {
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
export function isQuestionOfRights({ answer, isCertain }: CheckedAnswer): boolean {
  return isCertain && answer.refused;
}

/** What the sessions of one Central Station have learned of its cookies. */
export class CookieRotationState {
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
class CookieRotation {
  readonly #cookies: () => string;
  readonly #memory: CookieRotationState;
  readonly #turns = new ReadWriteLock();
  readonly #underWay = new Map<Attempt, Promise<unknown>>();
  /** Whether an answer of this session has brought other cookies than its request had. */
  #rotates = false;
  /** Whether the newest cookie here is the newest that has come. */
  #isInStep = true;
  /** Whether an answer was never read: it may have brought a newer cookie, or may still do so at the service. */
  #hasLostAnswers = false;

  /** @param cookies all cookies of the session as one text, empty where there is none */
  constructor(cookies: () => string, memory: CookieRotationState) {
    this.#cookies = cookies;
    this.#memory = memory;
  }

  async send(operation: Operation, tried: AttemptOptions, send: Send): Promise<CheckedAnswer> {
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
    const leave = await operation.takeTurn(this.#turns.exclusive);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  async #sendOnce(
    { attempt, isLogin, isLoggedOut }: AttemptOptions,
    alone: boolean,
    send: Send,
  ): Promise<CheckedAnswer> {
    attempt.hasChangedCookies = false;
    const sending = send(alone ? this.#turns.exclusive : this.#turns.shared);
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
  async #isOld(operation: Operation, { attempt, isLast }: AttemptOptions, refusal: Answer): Promise<boolean> {
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
