import { Cookie, CookieJar, MemoryCookieStore } from 'tough-cookie';
import { type Lock, ReadWriteLock } from '../../concurrency/semaphore';
import { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import type { Origins } from '../http/origins';
import type { ServiceRequest, Transport } from '../http/transport';
import { Attempt, type Operation } from '../operation';
import type { ServiceHealth } from './service-health';
import { SystemResource } from './system';

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Redirects that say that the request was not carried out and must be sent unchanged to the new address. */
const ELSEWHERE: ReadonlySet<number> = new Set([307, 308]);
const WRONG_METHOD = 405;
/** One refusal that ended at the second attempt may be chance; so many are not. */
const OFTEN = 3;

/** The session was renewed while the request was queued; it is sent in the new session. */
export const STALE = new RvmError('CANCELLED', 'The session was renewed before the request was sent.');
/** The circuit opened while the request was queued; it is sent when the circuit closes. */
export const HELD_UP = new RvmError('CANCELLED', 'The service was out of reach before the request was sent.');

/** Options of one attempt. */
export interface AttemptOptions {
  readonly attempt: Attempt;
  /** A refusal would count as a missing permission, so its cause is checked more closely. */
  readonly isLast?: boolean;
  /** The request belongs to the login: that its answer shows no login means nothing. */
  readonly isOfLogin?: boolean;
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
 * Requests that share one cookie jar, also if each answer sets a cookie that invalidates the one before. In that case only the
 * first of several simultaneous requests succeeds; the others are refused because of an old cookie, not a missing permission.
 * Such a request is sent once more, alone and with the newest cookie; after this has helped several times, all requests go
 * alone.
 */
export class CookieSession {
  readonly cookies: SessionCookies;
  /** Whether there is a newer session. */
  isReplaced = false;
  #isLoggedIn = false;
  readonly #turns = new ReadWriteLock();
  readonly #underWay = new Map<Attempt, Promise<unknown>>();
  /** Whether an answer of this session has changed the cookies of its request. */
  #rotates = false;
  /** Whether the newest cookie here is the newest that the service has set. */
  #isInStep = true;
  /** Whether an answer was never read: it may have set a newer cookie, or the service may still set one. */
  #hasLostAnswers = false;

  /** Starts with an empty jar, so that a late answer to an old session cannot change the cookies of the new one. */
  constructor(
    readonly transport: Transport,
    readonly origins: Origins,
    private readonly memory: CookieRotationState,
    private readonly health: ServiceHealth,
  ) {
    this.cookies = new SessionCookies(origins.system.origin);
  }

  /** A session over the same connections, with an empty cookie jar. */
  fresh(): CookieSession {
    return new CookieSession(this.transport, this.origins, this.memory, this.health);
  }

  /** The login has succeeded: the present cookies belong to the session. */
  loggedIn(): void {
    this.#isLoggedIn = true;
    this.cookies.loggedIn();
  }

  /**
   * Called when a request has its permit.
   * @throws RvmError `STALE` or `HELD_UP` if it must not be sent any more
   */
  admit({ isProbe }: Operation): void {
    if (isProbe || !this.#isLoggedIn) return;
    if (this.health.isOut) throw HELD_UP;
    if (this.isReplaced) throw STALE;
  }

  /** Sends a request of the login. All answers are returned. @throws RvmError as `try` */
  async exchange(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    return (await this.try(operation, wanted, { attempt: new Attempt(), isOfLogin: true })).answer;
  }

  /**
   * Sends a request, as one of several attempts. Redirects of a GET are followed, of other methods only those that say that
   * the request was not carried out; each hop only to a trusted origin. If a 405 names the other method of the request, it is
   * sent once with that. All other answers are returned unchanged.
   * @throws RvmError UNTRUSTED_LINK as well
   */
  async try(
    operation: Operation,
    { otherMethod, ...wanted }: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer> {
    const judged = await this.#sendSmaller(operation, wanted, tried);
    const { answer } = judged;
    if (otherMethod === undefined || !names(answer, otherMethod)) return judged;
    // Redirects may have led to the resource that refused the method.
    const url = this.origins.resolve(answer.url.href, answer.url, wanted.relation);
    // The other method requests no more than the first one, so it is as safe to repeat.
    return this.#sendSmaller(operation, { kind: 'GET', ...wanted, url, method: otherMethod }, tried);
  }

  /**
   * Does work while no request of this session is under way, if requests go one at a time: a service with one valid cookie per
   * user would take the answer to the old session for the newest one.
   */
  async whileQuiet<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    const leave = this.memory.isStrict ? await operation.takeTurn(this.#turns.exclusive) : undefined;
    try {
      return await work();
    } finally {
      leave?.();
    }
  }

  /** If the cookies set after the login made the head too large, the request is sent once more without them. */
  async #sendSmaller(
    operation: Operation,
    wanted: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer> {
    const first = await this.#sendWithNewest(operation, wanted, tried);
    const wasTooMuch = first.answer.isHeadTooLarge && this.cookies.dropOthers();
    if (!wasTooMuch || tried.attempt.cookies === this.cookies.text) return first;
    const second = await this.#sendWithNewest(operation, wanted, tried);
    // The answer may have set such cookies again.
    if (second.answer.isHeadTooLarge) this.cookies.dropOthers();
    return second;
  }

  async #sendWithNewest(
    operation: Operation,
    wanted: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer> {
    const alone = this.memory.isStrict;
    const first = await this.#sendOnce(operation, wanted, tried, alone);
    // A service that refuses a request for its size has not checked the cookie.
    if (!first.isRefused || first.answer.isHeadTooLarge || alone) return first;
    if (!(await this.#isOld(operation, tried, first.answer))) return first;
    const second = await this.#sendOnce(operation, wanted, tried, true);
    if (!second.isRefused) this.memory.hasHelped();
    return second;
  }

  async #sendOnce(
    operation: Operation,
    wanted: ServiceRequest,
    { attempt, isOfLogin }: AttemptOptions,
    alone: boolean,
  ): Promise<CheckedAnswer> {
    attempt.hasChangedCookies = false;
    const lock = alone ? this.#turns.exclusive : this.#turns.shared;
    const sending = this.#followRedirects(operation, wanted, attempt, lock);
    this.#underWay.set(
      attempt,
      sending.catch(() => undefined),
    );
    try {
      const answer = await sending;
      // If cookies never change, no refusal is due to an old one.
      const isCertain = !this.memory.hasRotated || (alone && this.#isInStep && !this.#hasLostAnswers);
      const isLoggedOut = isOfLogin !== true && answer.ok && this.#isLoggedOut(wanted, answer);
      const isRefused = answer.refused || isLoggedOut;
      // Cookies in the answer to a login begin the session, and say nothing about later answers.
      if (wanted.kind !== 'login') this.#learn(attempt, alone, isRefused);
      return { answer, isRefused, isCertain };
    } catch (error) {
      if (attempt.isSent && !attempt.isAnswered) this.#hasLostAnswers = true;
      throw error;
    } finally {
      this.#underWay.delete(attempt);
    }
  }

  async #followRedirects(
    operation: Operation,
    wanted: ServiceRequest,
    attempt: Attempt,
    lock: Lock,
  ): Promise<Answer> {
    const followed = wanted.method === 'GET' ? REDIRECTS : ELSEWHERE;
    let url = wanted.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const answer = await this.transport.send(
        operation,
        { ...wanted, url },
        { attempt, lock, session: this },
      );
      if (!followed.has(answer.status) || answer.location === undefined) return answer;
      url = this.origins.resolve(answer.location, answer.url, wanted.relation);
    }
    throw new RvmError(
      'BAD_RESPONSE',
      'The service redirects without end; check the base URL of the cloud.',
      { relation: wanted.relation, attempts: attempt.number },
    );
  }

  /**
   * Recognizes a successful answer for a client that is not logged in: at the System resource, whichever link led there, a lost
   * session is not refused but only shown less.
   */
  #isLoggedOut({ method, url }: ServiceRequest, answer: Answer): boolean {
    if (method !== 'GET' || url.href !== this.origins.system.href) return false;
    return !SystemResource.from(answer, this.origins).isLoggedIn;
  }

  #learn(attempt: Attempt, alone: boolean, isRefused: boolean): void {
    if (!isRefused && attempt.cookies !== '' && attempt.hasChangedCookies) {
      this.#rotates = true;
      this.memory.hasRotated = true;
    }
    if (alone && !isRefused) this.#isInStep = true;
    else if (attempt.hasChangedCookies && (isRefused || this.#othersAreOut(attempt))) this.#isInStep = false;
  }

  #othersAreOut(attempt: Attempt): boolean {
    return [...this.#underWay.keys()].some((other) => other !== attempt && other.isSent);
  }

  /** Whether the cookie of a refused request was outdated when the request was sent or answered. */
  async #isOld(operation: Operation, { attempt, isLast }: AttemptOptions, refusal: Answer): Promise<boolean> {
    const hasNewer = (): boolean => this.cookies.text !== attempt.cookies;
    // A refusal that sets cookies ends the session instead of renewing it.
    if (attempt.cookies === '' || refusal.header('set-cookie') !== undefined) return false;
    if (hasNewer() || !(this.#rotates || isLast === true)) return hasNewer();
    // The answer that made the cookie outdated may still be on its way.
    const others = [...this.#underWay].filter(([other]) => other.isSent).map(([, sending]) => sending);
    await operation.waitFor(Promise.all(others));
    return hasNewer();
  }
}

/** True if a resource refuses the method of a request and allows this one (RFC 9110, section 15.5.6). */
function names(answer: Answer, method: string): boolean {
  const allowed = answer.status === WRONG_METHOD ? (answer.header('allow') ?? '') : '';
  return allowed.split(',').some((name) => name.trim().toUpperCase() === method);
}

/** Maximum number of cookies, and bytes of their names and values: no service needs more for a session. */
const MAX_COOKIES = 64;
const MAX_BYTES = 16 * 1024;
/** Bytes by which the session's cookies may grow when they are renewed: no service adds more to its own cookies. */
const MAX_GROWTH = 256;
/** Maximum number of cached headers, and of characters of one address and its header together. */
const MAX_STORED_COOKIES = 1000;
const MAX_LENGTH = 8192;
/** The latest time that a date can hold, in milliseconds since 1970. */
const NEVER = 8.64e15;

interface Header {
  readonly text: string;
  /** Milliseconds since 1970: when the first of its cookies expires. */
  readonly until: number;
}

interface StoredCookie {
  readonly cookie: Cookie;
  readonly bytes: number;
  /** Set by the login, or present when the login had succeeded. */
  readonly isOwn: boolean;
}

/**
 * The cookies of one session. Headers are cached until a cookie changes, because querying the jar costs as much as a request.
 * If a service sets more and more cookies, the oldest are dropped first, but the possible session cookies last. Among those,
 * and among all until the login has succeeded, the newest are dropped first.
 */
export class SessionCookies {
  /** The origins that may set cookies for their whole domain: those of the base URL and of the login. */
  readonly #homes: Set<string>;
  #jar = new CookieJar(new MemoryCookieStore());
  /** Whether the jar contains dropped or expired cookies. */
  #isJarOutdated = false;
  /** By domain, path and name, the oldest first. */
  readonly #cookies = new Map<string, StoredCookie>();
  #bytes = 0;
  /** The cookies at the moment when the login had succeeded, with their values then. */
  #atLogin: readonly StoredCookie[] | undefined;
  readonly #headers = new Map<string, Header>();
  #values: readonly string[] = [];
  #text = '';

  /** @param home the origin of the base URL */
  constructor(home: string) {
    this.#homes = new Set([home]);
  }

  /** The values of all cookies. */
  get values(): readonly string[] {
    return this.#values;
  }

  /** All values as one text; empty if there is none. */
  get text(): string {
    return this.#text;
  }

  /** The `Cookie` header of a request; empty if it has none. */
  headerFor({ href }: URL): string {
    const known = this.#headers.get(href);
    if (known !== undefined && Date.now() < known.until) return known.text;
    const header = this.#ask(href);
    if (href.length + header.text.length > MAX_LENGTH) return header.text;
    if (this.#headers.size >= MAX_STORED_COOKIES) this.#headers.clear();
    this.#headers.set(href, header);
    return header.text;
  }

  /**
   * Stores the cookies of an answer. After the login, a cookie of another trusted origin is limited to its host: only the
   * service itself may set cookies for the whole domain.
   * @param isOwn whether the answer is that of a login
   */
  keep(setCookie: string | readonly string[], { href, origin }: URL, isOwn = false): void {
    if (isOwn || this.#atLogin === undefined) this.#homes.add(origin);
    for (const text of [setCookie].flat()) {
      const parsed = Cookie.parse(text);
      if (parsed !== undefined && !this.#homes.has(origin)) parsed.domain = null;
      const cookie = parsed && this.#jar.setCookieSync(endingOnTime(parsed), href, { ignoreError: true });
      if (cookie !== undefined) this.#note(cookie, isOwn);
      while (this.#cookies.size > MAX_COOKIES || this.#bytes > MAX_BYTES) this.#driveOut();
    }
    this.#changed();
  }

  /** The login has succeeded with the present cookies: any of them may identify the session, whichever answer set it. */
  loggedIn(): void {
    for (const [key, stored] of this.#cookies) this.#cookies.set(key, { ...stored, isOwn: true });
    this.#atLogin = [...this.#cookies.values()];
  }

  /**
   * Drops all cookies set since the login, because the service takes no more of them. Those of the session stay as they were
   * renewed; if they have grown, they are reset to their values at the login.
   * @returns false before the login has succeeded: then it is unknown which are too many
   */
  dropOthers(): boolean {
    if (this.#atLogin === undefined) return false;
    for (const stored of this.#cookies.values()) if (!stored.isOwn) this.#drop(stored);
    const before = this.#atLogin.reduce((sum, { bytes }) => sum + bytes, 0);
    if (this.#bytes > before + MAX_GROWTH) this.#putBack(this.#atLogin);
    this.#changed();
    return true;
  }

  #putBack(former: readonly StoredCookie[]): void {
    for (const stored of this.#cookies.values()) this.#drop(stored);
    for (const stored of former) {
      if (hasEnded(stored.cookie)) continue;
      this.#cookies.set(cookieKey(stored.cookie), stored);
      this.#bytes += stored.bytes;
    }
  }

  #changed(): void {
    if (this.#isJarOutdated) this.#renewJar();
    this.#headers.clear();
    this.#values = [...this.#cookies.values()].map(({ cookie }) => cookie.value);
    this.#text = this.#values.join('\n');
  }

  /**
   * A new jar without old entries: the jar retains expired cookies until they are queried, and an entry for each path it ever
   * had.
   */
  #renewJar(): void {
    const store = new MemoryCookieStore();
    for (const { cookie } of this.#cookies.values()) store.putCookie(cookie, () => undefined);
    this.#jar = new CookieJar(store);
    this.#isJarOutdated = false;
  }

  #note(cookie: Cookie, isOwn: boolean): void {
    const key = cookieKey(cookie);
    const before = this.#cookies.get(key);
    this.#bytes -= before?.bytes ?? 0;
    if (hasEnded(cookie)) {
      this.#cookies.delete(key);
      this.#isJarOutdated = true;
      return;
    }
    const bytes = cookie.key.length + cookie.value.length;
    this.#cookies.set(key, { cookie, bytes, isOwn: isOwn || before?.isOwn === true });
    this.#bytes += bytes;
  }

  #driveOut(): void {
    const all = [...this.#cookies.values()];
    const others = all.filter(({ isOwn }) => !isOwn);
    const driven = (this.#atLogin === undefined ? others.at(-1) : others[0]) ?? all.at(-1);
    if (driven !== undefined) this.#drop(driven);
  }

  #drop({ cookie, bytes }: StoredCookie): void {
    this.#cookies.delete(cookieKey(cookie));
    this.#bytes -= bytes;
    this.#isJarOutdated = true;
  }

  #ask(href: string): Header {
    const cookies = this.#jar.getCookiesSync(href);
    return {
      text: cookies.map((cookie) => cookie.cookieString()).join('; '),
      until: Math.min(...cookies.map((cookie) => cookie.expiryTime() ?? Infinity)),
    };
  }
}

/** Key of a cookie: another one with the same key replaces it. */
function cookieKey({ domain, path, key }: Cookie): string {
  return JSON.stringify([domain, path, key]);
}

function hasEnded(cookie: Cookie): boolean {
  return (cookie.expiryTime() ?? Infinity) <= Date.now();
}

/** Counts Max-Age from receipt: the jar counts it from the last query, which extends it each time. */
function endingOnTime(cookie: Cookie): Cookie {
  const { maxAge } = cookie;
  if (typeof maxAge !== 'number') return cookie;
  cookie.expires = new Date(maxAge <= 0 ? 0 : Math.min(NEVER, Date.now() + maxAge * 1000));
  cookie.maxAge = null;
  return cookie;
}
