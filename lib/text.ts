// Server and dialogs share this file: it imports nothing.

/** A count with its noun, for English texts: `1 message`, `2 messages`. Texts of locale files have their own singular. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const GUID = /^\{?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}?$/i;

/**
 * The form in which two spellings of one GUID are equal: no braces, lower case, any version digit. Undefined for any other id:
 * those are compared exactly.
 */
export function guidForm(id: string): string | undefined {
  return GUID.exec(id)?.[1]?.toLowerCase();
}

/** Form of the key of a Central Station, and of that of an alarm state. */
export const KEY = /^[a-z0-9-]{1,32}$/;

const UNSET = /^\$(?:\{([^{}]+)\}|\(([^()]+)\))$/;

/**
 * The name of the environment variable that a value refers to. Node-RED replaces `${NAME}` and `$(NAME)` where they are the
 * whole value, and passes the literal text if the variable is not set.
 */
export function variableIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const match = UNSET.exec(value.trim());
  return match?.[1] ?? match?.[2];
}

const HALF_OF_PAIR = /\p{Surrogate}/u;

/** False where a text has half of a surrogate pair alone. As bytes all such halves are alike, so two texts would be equal. */
export function isWellFormed(text: string): boolean {
  return !HALF_OF_PAIR.test(text);
}

/** The beginning of a text, `length` UTF-16 units at most: cut between characters, never inside one. */
export function beginOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

export interface Login {
  username: string;
  password: string;
}

/** The user information of a URL, decoded where it is encoded; undefined where there is none. */
export function loginOfUrl({ username, password }: URL): Login | undefined {
  if (username === '' && password === '') return undefined;
  return { username: decoded(username), password: decoded(password) };
}

/** The value of an `Authorization` header (RFC 7617, section 2). A user without a password is valid. */
export function basicAuthorization({ username, password }: Login): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Scheme, host and port of an RTSP server. */
export interface RtspRelay {
  scheme: string;
  /** As written; IPv6 in brackets. */
  host: string;
  port: number;
}

/** Registered with IANA. */
const PORTS: ReadonlyMap<string, number> = new Map([
  ['rtsp', 554],
  ['rtsps', 322],
]);
const LONGEST = 4096;
/**
 * The characters of a URL (RFC 3986, section 2) but for the apostrophe. All others, such as white space, quotes, the backslash
 * and everything beyond ASCII, must not reach a player. A command line has to put it in single quotes.
 */
const LEGAL = /^[A-Za-z0-9\-._~:/?#[\]@!$&()*+,;=%]+$/;

/** The relay of an RTSP URL; undefined where the URL is none, or is unsafe to pass to a player. */
export function relayOf(url: string): RtspRelay | undefined {
  if (url.length > LONGEST || !LEGAL.test(url)) return undefined;
  const parsed = URL.parse(url);
  if (parsed === null || authorityOf(url).split('@').length > 2) return undefined;
  const { protocol, hostname, port } = parsed;
  const scheme = protocol.slice(0, -1);
  const usual = PORTS.get(scheme);
  if (usual === undefined || hostname === '') return undefined;
  return { scheme, host: hostname, port: port === '' ? usual : Number(port) };
}

/** User, host and port. Players disagree about the host where there is more than one `@`. */
function authorityOf(url: string): string {
  const rest = url.slice(url.indexOf('//') + 2);
  const end = rest.search(/[/?#]/);
  return end < 0 ? rest : rest.slice(0, end);
}

/** Search terms: each must occur somewhere. */
export type SearchTerms = readonly string[];

export function parseTerms(search: unknown): SearchTerms {
  return typeof search === 'string' ? search.toLowerCase().split(/\s+/).filter(Boolean) : [];
}

/** Whether texts contain all words, in any case. */
export function matchAll(texts: readonly unknown[], words: SearchTerms): boolean {
  if (words.length === 0) return true;
  const text = texts.join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}
