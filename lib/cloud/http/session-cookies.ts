import { Cookie, CookieJar, MemoryCookieStore } from 'tough-cookie';

/** Cookies that are kept, and bytes of their names and values: of more than these no service tells a session. */
const MAX_COOKIES = 64;
const MAX_BYTES = 16 * 1024;
/** Bytes by which the cookies of the session may grow as they are renewed: what grows by more no service does to itself. */
const MAX_GROWTH = 256;
/** Headers of so many addresses are kept, and of none that is longer than that together with its header. */
const MAX_KEPT = 1000;
const MAX_LENGTH = 8192;
/** The latest time that a date can hold, in milliseconds since 1970. */
const NEVER = 8.64e15;

interface Header {
  readonly text: string;
  /** Milliseconds since 1970: then the first of its cookies ends. */
  readonly until: number;
}

interface Kept {
  readonly cookie: Cookie;
  readonly bytes: number;
  /** The login has set it, or it was there when that had succeeded. */
  readonly isOwn: boolean;
}

/**
 * The cookies of one session. What the jar says is kept until it changes: to ask it costs as much as a request. A service that
 * sets more and more of them drives out the oldest, but for those that may tell the session: of these, and of all until the login has
 * succeeded, the first are the last to go.
 */
export class SessionCookies {
  /** The origins that may speak for others of their domain: those of the base URL and of the login. */
  readonly #homes: Set<string>;
  #jar = new CookieJar(new MemoryCookieStore());
  /** Whether the jar holds more than is kept. */
  #isJarOutdated = false;
  /** By place and name, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  /** Those that were there when the login had succeeded, as they were then. */
  #atLogin: readonly Kept[] | undefined;
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

  /** The same as one text; empty where there is none. */
  get text(): string {
    return this.#text;
  }

  /** The `Cookie` header of a request; empty where it has none. */
  headerFor({ href }: URL): string {
    const known = this.#headers.get(href);
    if (known !== undefined && Date.now() < known.until) return known.text;
    const header = this.#ask(href);
    if (href.length + header.text.length > MAX_LENGTH) return header.text;
    if (this.#headers.size >= MAX_KEPT) this.#headers.clear();
    this.#headers.set(href, header);
    return header.text;
  }

  /**
   * Keeps what an answer sets. Once the login has succeeded, a cookie of another trusted origin is for its host alone: nothing but
   * the service itself tells a session to its neighbours.
   * @param isOwn it is the answer to a login
   */
  keep(setCookie: string | readonly string[], { href, origin }: URL, isOwn = false): void {
    if (isOwn || this.#atLogin === undefined) this.#homes.add(origin);
    for (const text of [setCookie].flat()) {
      const parsed = Cookie.parse(text);
      if (parsed !== undefined && !this.#homes.has(origin)) parsed.domain = null;
      const cookie = parsed && this.#jar.setCookieSync(endingOnTime(parsed), href, { ignoreError: true });
      if (cookie !== undefined) this.#note(cookie, isOwn);
      while (this.#kept.size > MAX_COOKIES || this.#bytes > MAX_BYTES) this.#driveOut();
    }
    this.#changed();
  }

  /** The login has succeeded with what is kept now: any of it may tell the session, whichever answer has set it. */
  loggedIn(): void {
    for (const [place, kept] of this.#kept) this.#kept.set(place, { ...kept, isOwn: true });
    this.#atLogin = [...this.#kept.values()];
  }

  /**
   * Drops all that came since: the service takes no more of them. Those of the session are kept as they have been renewed, but
   * where they have grown: then they are again what they were when the login had succeeded.
   * @returns false before the login has succeeded: then nobody knows which are too many
   */
  dropOthers(): boolean {
    if (this.#atLogin === undefined) return false;
    for (const kept of this.#kept.values()) if (!kept.isOwn) this.#drop(kept);
    const before = this.#atLogin.reduce((sum, { bytes }) => sum + bytes, 0);
    if (this.#bytes > before + MAX_GROWTH) this.#putBack(this.#atLogin);
    this.#changed();
    return true;
  }

  #putBack(former: readonly Kept[]): void {
    for (const kept of this.#kept.values()) this.#drop(kept);
    for (const kept of former) {
      if (hasEnded(kept.cookie)) continue;
      this.#kept.set(placeOf(kept.cookie), kept);
      this.#bytes += kept.bytes;
    }
  }

  #changed(): void {
    if (this.#isJarOutdated) this.#renewJar();
    this.#headers.clear();
    this.#values = [...this.#kept.values()].map(({ cookie }) => cookie.value);
    this.#text = this.#values.join('\n');
  }

  /** A store of cookies keeps what has ended where nobody asks for it, and a place for each path that it has ever had. */
  #renewJar(): void {
    const store = new MemoryCookieStore();
    for (const { cookie } of this.#kept.values()) store.putCookie(cookie, () => undefined);
    this.#jar = new CookieJar(store);
    this.#isJarOutdated = false;
  }

  #note(cookie: Cookie, isOwn: boolean): void {
    const place = placeOf(cookie);
    const before = this.#kept.get(place);
    this.#bytes -= before?.bytes ?? 0;
    if (hasEnded(cookie)) {
      this.#kept.delete(place);
      this.#isJarOutdated = true;
      return;
    }
    const bytes = cookie.key.length + cookie.value.length;
    this.#kept.set(place, { cookie, bytes, isOwn: isOwn || before?.isOwn === true });
    this.#bytes += bytes;
  }

  #driveOut(): void {
    const all = [...this.#kept.values()];
    const others = all.filter(({ isOwn }) => !isOwn);
    const driven = (this.#atLogin === undefined ? others.at(-1) : others[0]) ?? all.at(-1);
    if (driven !== undefined) this.#drop(driven);
  }

  #drop({ cookie, bytes }: Kept): void {
    this.#kept.delete(placeOf(cookie));
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

/** What tells a cookie: one more of the same place and name takes its place. */
function placeOf({ domain, path, key }: Cookie): string {
  return JSON.stringify([domain, path, key]);
}

function hasEnded(cookie: Cookie): boolean {
  return (cookie.expiryTime() ?? Infinity) <= Date.now();
}

/** An age counts from when the cookie came; the jar counts it from when it was last asked for, again and again. */
function endingOnTime(cookie: Cookie): Cookie {
  const { maxAge } = cookie;
  if (typeof maxAge !== 'number') return cookie;
  cookie.expires = new Date(maxAge <= 0 ? 0 : Math.min(NEVER, Date.now() + maxAge * 1000));
  cookie.maxAge = null;
  return cookie;
}
