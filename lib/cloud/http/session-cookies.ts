import { Cookie, CookieJar, MemoryCookieStore } from 'tough-cookie';

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
