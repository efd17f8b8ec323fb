import { Cookie, CookieJar } from 'tough-cookie';

/** Of more than these no service tells a session. */
const MAX_VALUES = 50;
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

/** The cookies of one session. What the jar says is kept until it changes: to ask it costs as much as a request. */
export class SessionCookies {
  readonly #jar = new CookieJar();
  readonly #headers = new Map<string, Header>();
  #values: readonly string[] = [];
  #text = '';

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

  /** Keeps what an answer sets. */
  keep(setCookie: string | readonly string[], { href }: URL): void {
    for (const text of [setCookie].flat()) {
      const cookie = Cookie.parse(text);
      if (cookie !== undefined) this.#jar.setCookieSync(endingOnTime(cookie), href, { ignoreError: true });
    }
    this.#headers.clear();
    const { cookies = [] } = this.#jar.serializeSync() ?? {};
    this.#values = cookies.slice(0, MAX_VALUES).map(({ value = '' }) => value ?? '');
    this.#text = this.#values.join('\n');
  }

  #ask(href: string): Header {
    const cookies = this.#jar.getCookiesSync(href);
    return {
      text: cookies.map((cookie) => cookie.cookieString()).join('; '),
      until: Math.min(...cookies.map((cookie) => cookie.expiryTime() ?? Infinity)),
    };
  }
}

/** An age counts from when the cookie came; the jar counts it from when it was last asked for, again and again. */
function endingOnTime(cookie: Cookie): Cookie {
  const { maxAge } = cookie;
  if (typeof maxAge !== 'number') return cookie;
  cookie.expires = new Date(maxAge <= 0 ? 0 : Math.min(NEVER, Date.now() + maxAge * 1000));
  cookie.maxAge = null;
  return cookie;
}
