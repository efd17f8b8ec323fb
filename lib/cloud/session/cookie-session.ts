import { type Lock, ReadWriteLock } from '../../concurrency/semaphore';
import { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import type { Origins } from '../http/origins';
import { SessionCookies } from '../http/session-cookies';
import { metered, type ServiceRequest, type Transport } from '../http/transport';
import { Attempt, type Operation } from '../operation';

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Redirects that say that the request was not carried out and must be sent unchanged to the new address. */
const ELSEWHERE: ReadonlySet<number> = new Set([307, 308]);
const WRONG_METHOD = 405;

/** Requests that share one cookie jar. */
export class HttpSession {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #cookies: SessionCookies;
  readonly #memory: CookieRotationState;
  readonly #rotation: CookieRotation;

  /** Starts with an empty jar, so that a late answer to an old session cannot change the cookies of the new one. */
  constructor(transport: Transport, origins: Origins, memory: CookieRotationState) {
    this.#transport = transport;
    this.#origins = origins;
    this.#cookies = new SessionCookies(origins.system.origin);
    this.#memory = memory;
    this.#rotation = new CookieRotation(() => this.#cookies.text, memory);
  }

  /** A session over the same connections, with an empty cookie jar. */
  fresh(): HttpSession {
    return new HttpSession(this.#transport, this.#origins, this.#memory);
  }

  get hasCookie(): boolean {
    return this.#cookies.values.length > 0;
  }

  /** The login has succeeded: the present cookies belong to the session. */
  loggedIn(): void {
    this.#cookies.loggedIn();
  }

  /**
   * Sends a request. Redirects of a GET are followed, of other methods only those that say that the request was not carried
   * out; each hop only to a trusted origin. If a 405 names the other method of the request, it is sent once with that. All
   * other answers are returned unchanged.
   * @throws RvmError UNTRUSTED_LINK as well
   */
  async exchange(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    return (await this.try(operation, wanted, { attempt: new Attempt() })).answer;
  }

  /** Like `exchange`, as one of several attempts; also returns whether a refusal is certain. */
  async try(
    operation: Operation,
    { otherMethod, ...wanted }: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer> {
    const judged = await this.#send(operation, wanted, tried);
    const { answer } = judged;
    if (otherMethod === undefined || !names(answer, otherMethod)) return judged;
    // Redirects may have led to the resource that refused the method.
    const url = this.#origins.resolve(answer.url.href, answer.url, wanted.relation);
    // The other method requests no more than the first one, so it is as safe to repeat.
    return this.#send(operation, { kind: 'GET', ...wanted, url, method: otherMethod }, tried);
  }

  /** If the cookies set after the login made the head too large, the request is sent once more without them. */
  async #send(operation: Operation, wanted: ServiceRequest, tried: AttemptOptions): Promise<CheckedAnswer> {
    const first = await this.#sendOnce(operation, wanted, tried);
    if (!this.#wasTooMuch(first, tried)) return first;
    const second = await this.#sendOnce(operation, wanted, tried);
    // The answer may have set such cookies again.
    if (second.answer.isHeadTooLarge) this.#cookies.dropOthers();
    return second;
  }

  #wasTooMuch({ answer }: CheckedAnswer, { attempt }: AttemptOptions): boolean {
    return answer.isHeadTooLarge && this.#cookies.dropOthers() && attempt.cookies !== this.#cookies.text;
  }

  #sendOnce(operation: Operation, wanted: ServiceRequest, tried: AttemptOptions): Promise<CheckedAnswer> {
    const { attempt } = tried;
    const isLogin = wanted.kind === 'login';
    return this.#rotation.send(operation, { ...tried, isLogin }, (lock) =>
      this.#followRedirects(operation, wanted, { attempt, lock }),
    );
  }

  /**
   * Does work while no request of this session is under way, if requests go one at a time: a service with one valid cookie per
   * user would take the answer to the old session for the newest one.
   */
  whileQuiet<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    return this.#memory.isStrict ? this.#rotation.whileQuiet(operation, work) : work();
  }

  async #followRedirects(
    operation: Operation,
    wanted: ServiceRequest,
    { attempt, lock }: { attempt: Attempt; lock: Lock },
  ): Promise<Answer> {
    const followed = wanted.method === 'GET' ? REDIRECTS : ELSEWHERE;
    let url = wanted.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const via = { attempt, lock, cookies: this.#cookies };
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

/** True if a resource refuses the method of a request and allows this one (RFC 9110, section 15.5.6). */
function names(answer: Answer, method: string): boolean {
  const allowed = answer.status === WRONG_METHOD ? (answer.header('allow') ?? '') : '';
  return allowed.split(',').some((name) => name.trim().toUpperCase() === method);
}

/** One refusal that ended at the second attempt may be chance; so many are not. */
const OFTEN = 3;

/** Sends a request with the present cookies, once it has the lock. */
type Send = (lock: Lock) => Promise<Answer>;

/** Options of one attempt. */
export interface AttemptOptions {
  readonly attempt: Attempt;
  /** A refusal would count as a missing permission, so its cause is checked more closely. */
  readonly isLast?: boolean;
  /** The request begins the session: cookies in its answer say nothing about later answers. */
  readonly isLogin?: boolean;
  /** Whether a successful answer is one that no logged-in client gets: then it counts as a refusal. */
  readonly isLoggedOut?: ((answer: Answer) => boolean) | undefined;
}

/** An answer, and what a refusal means. */
export interface CheckedAnswer {
  readonly answer: Answer;
  /** Also true for a successful answer that is meant for a client that is not logged in. */
  readonly isRefused: boolean;
  /** Whether the request had the newest cookie: otherwise a refusal says nothing about permissions. */
  readonly isCertain: boolean;
}

/**
 * Whether a refusal means a missing permission, so that a new session does not help. A successful answer for a client that is
 * not logged in never means that: the login was shown more.
 */
export function isPermissionDenied({ answer, isCertain }: CheckedAnswer): boolean {
  return isCertain && answer.refused;
}

/** What the sessions of one Central Station have learned about its cookies. */
export class CookieRotationState {
  /** How often a request succeeded with the newest cookie after a refusal with the one before. */
  #helped = 0;
  /** Number of requests under way whose refusal is not explained yet. */
  #doubts = 0;
  /** Whether an answer, except those to a login, has ever changed the cookies of its request. */
  hasRotated = false;

  /** Whether sessions send one request at a time. */
  get isStrict(): boolean {
    return this.#doubts > 0 || this.#helped >= OFTEN;
  }

  hasHelped(): void {
    this.#helped += 1;
  }

  /** Until the returned function is called, all requests go one at a time, so that a refusal is certain. */
  doubt(): () => void {
    this.#doubts += 1;
    return () => void (this.#doubts -= 1);
  }
}

/**
 * Sends the requests of one session, also if each answer sets a cookie that invalidates the one before. In that case only the
 * first of several simultaneous requests succeeds; the others are refused because of an old cookie, not a missing permission.
 * Such a request is sent once more, alone and with the newest cookie; after this has helped several times, all requests go
 * alone.
 */
class CookieRotation {
  readonly #cookies: () => string;
  readonly #memory: CookieRotationState;
  readonly #turns = new ReadWriteLock();
  readonly #underWay = new Map<Attempt, Promise<unknown>>();
  /** Whether an answer of this session has changed the cookies of its request. */
  #rotates = false;
  /** Whether the newest cookie here is the newest that the service has set. */
  #isInStep = true;
  /** Whether an answer was never read: it may have set a newer cookie, or the service may still set one. */
  #hasLostAnswers = false;

  /** @param cookies all cookies of the session as one text, empty where there is none */
  constructor(cookies: () => string, memory: CookieRotationState) {
    this.#cookies = cookies;
    this.#memory = memory;
  }

  async send(operation: Operation, tried: AttemptOptions, send: Send): Promise<CheckedAnswer> {
    const alone = this.#memory.isStrict;
    const first = await this.#sendOnce(tried, alone, send);
    // A service that refuses a request for its size has not checked the cookie.
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
      // If cookies never change, no refusal is due to an old one.
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

  /** Whether the cookie of a refused request was outdated when the request was sent or answered. */
  async #isOld(operation: Operation, { attempt, isLast }: AttemptOptions, refusal: Answer): Promise<boolean> {
    const hasNewer = (): boolean => this.#cookies() !== attempt.cookies;
    // A refusal that sets cookies ends the session instead of renewing it.
    if (attempt.cookies === '' || refusal.header('set-cookie') !== undefined) return false;
    if (hasNewer() || !(this.#rotates || isLast === true)) return hasNewer();
    // The answer that made the cookie outdated may still be on its way.
    const others = [...this.#underWay].filter(([other]) => other.isSent).map(([, sending]) => sending);
    await operation.waitFor(Promise.all(others));
    return hasNewer();
  }
}
