import { promisify } from 'node:util';
import {
  brotliDecompress,
  type BrotliOptions,
  gunzip,
  inflate,
  inflateRaw,
  type ZlibOptions,
} from 'node:zlib';
import { RvmError, type RvmErrorCause, type RvmErrorCode } from '../../error';
import { isRecord, type JsonRecord, parseSafely } from '../../json/json';
import { nestsDeeperThan } from '../../json/scan';
import { parseInSlices, TooDeepError, TooManyError } from '../../json/sliced-parser';
import { DIALECT } from '../dialect';
import { redact, oneLine } from '../secret-mask';
import { MAX_ANSWER_BYTES } from './connection-pool';

/** The error of a camera that the service does not reach. */
function cameraUnreachable(cause: RvmErrorCause): RvmError {
  return new RvmError(
    'DEVICE_OFFLINE',
    'The service cannot reach the camera now, although it may list it as online; try again in a while.',
    cause,
  );
}

/** The error of a camera that somebody else holds. */
export function cameraBusy(cause: RvmErrorCause): RvmError {
  return new RvmError(
    'CAMERA_BUSY',
    'Somebody else is using the camera, and the service does not let it go; try again in a while.',
    cause,
  );
}

/** What requests ask for: all that can be read. */
export const READABLE_CODINGS = 'gzip, deflate, br';

/** A body that cannot be had, and what is to be said to whoever wants it. */
export class UnreadableBody {
  constructor(readonly reason: string) {}
}

/** Unpacked. One that grows beyond what is read at all is cut off there, however much more would come. */
const LIMITS = { maxOutputLength: MAX_ANSWER_BYTES, chunkSize: 64 * 1024 } satisfies ZlibOptions &
  BrotliOptions;
/** Of the name of a coding no more is quoted: it is a text of the service. */
const MAX_QUOTED = 60;

const ADVICE = 'have the service, or the proxy in between, send it as it is';
/** Said of an answer that is cut off at the limit, packed or not. */
export const TOO_LARGE = 'The answer of the service is too large to be read.';
const BROKEN = 'The compressed answer of the service is broken; try again, or report it to the service.';

type Unpack = (packed: Buffer) => Promise<Buffer>;

const gunzipped = promisify<Buffer, ZlibOptions, Buffer>(gunzip);
const inflated = promisify<Buffer, ZlibOptions, Buffer>(inflate);
const inflatedRaw = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);
const unbrotlied = promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress);

/** By the name of the coding (RFC 9110, section 8.4.1). */
const UNPACK: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ['gzip', (packed) => gunzipped(packed, LIMITS)],
  ['x-gzip', (packed) => gunzipped(packed, LIMITS)],
  ['deflate', (packed) => (hasZlibHead(packed) ? inflated(packed, LIMITS) : inflatedRaw(packed, LIMITS))],
  ['br', (packed) => unbrotlied(packed, LIMITS)],
]);

/** The names in a `Content-Encoding` header of one or more lines, in small letters; none where the body is as it was. */
function codingsIn(header: string | readonly string[]): string[] {
  return [header]
    .flat()
    .join(',')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
}

/**
 * The body of an answer as it was before it was compressed, at most 32 MiB of it. Several codings one over the other are
 * not read: each would make a bomb a thousand times larger.
 * @param header `Content-Encoding` of the answer
 * @param secrets texts that no error may repeat
 */
export function unpacked(
  body: Buffer,
  header: string | readonly string[] | undefined,
  secrets: () => readonly string[],
): Buffer | Promise<Buffer | UnreadableBody> {
  const codings = header === undefined ? [] : codingsIn(header);
  // To an empty body, such as that of a 204, some gateways add the header all the same.
  if (codings.length === 0 || body.length === 0) return body;
  const [only = '', ...others] = codings;
  const unpack = others.length === 0 ? UNPACK.get(only) : undefined;
  if (unpack === undefined) return Promise.resolve(unknownCoding(codings, secrets()));
  return unpack(body).catch((error: unknown) => new UnreadableBody(isTooLarge(error) ? TOO_LARGE : BROKEN));
}

function unknownCoding(codings: readonly string[], secrets: readonly string[]): UnreadableBody {
  const named = oneLine(redact(codings.join(', '), secrets, 4 * MAX_QUOTED), MAX_QUOTED);
  return new UnreadableBody(
    `The answer of the service is compressed in a way that was not asked for ("${named}"); ${ADVICE}.`,
  );
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

/** Some call it deflate and leave out the two bytes of zlib before it (RFC 1950, section 2.2). */
function hasZlibHead(packed: Buffer): boolean {
  const [method = 0, flags = 0] = packed;
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}

/**
 * The first of the named fields that is present. The first letter may be in either case, because some services
 * print `Id` for `id`; null counts as missing.
 */
export function firstField(record: JsonRecord, names: readonly string[]): unknown {
  for (const name of names) {
    const value = ownField(record, name) ?? ownField(record, swapFirstLetter(name));
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function ownField(record: JsonRecord, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The first of the named fields that holds a text or a number, as text; empty texts count as missing. */
export function firstText(record: JsonRecord, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = asText(firstField(record, [name]));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Ids and the like may come as numbers. */
export function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return undefined;
}

function swapFirstLetter(name: string): string {
  const first = name.charAt(0);
  const other = first === first.toLowerCase() ? first.toUpperCase() : first.toLowerCase();
  return other + name.slice(1);
}

/** What can be learned from the body of an error answer. */
export interface ErrorBody {
  serverCode?: string;
  /** One clean line of at most 200 characters, without our secrets. */
  serverMessage?: string;
}

const MAX_MESSAGE = 200;
const MAX_CODE = 60;
/** A longer body is no JSON record with a message for people. */
const MAX_ERROR_JSON = 16 * 1024;
/** Enough for any message; bounds the work on a huge error page. */
const MAX_READ = 4 * 1024;
/** A tag with its name, or the text up to the next one. Nothing that was passed is looked at again. */
const TAG_OR_TEXT = /<(\/?[a-z]*)[^<>]*>?|[^<]+/gi;

/**
 * Reads an error body of any kind: a record with code and message, problem details, a JSON text, an HTML page,
 * plain text or nothing. The specification shows no error body (section 7).
 */
export function readErrorBody(body: string, secrets: readonly string[]): ErrorBody {
  const parsed = body.length > MAX_ERROR_JSON ? undefined : parseOrUndefined(body);
  const code = isRecord(parsed) ? codeOf(parsed) : undefined;
  const serverCode = oneLine(redact(code ?? '', secrets, MAX_READ), MAX_CODE);
  const message = messageOf(parsed);
  const start = redact(message ?? body, secrets, MAX_READ);
  const serverMessage = oneLine(message === undefined ? readable(start) : start, MAX_MESSAGE);
  return {
    ...(serverCode === '' ? {} : { serverCode }),
    ...(serverMessage === '' ? {} : { serverMessage }),
  };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function codeOf(body: JsonRecord): string | undefined {
  const own = firstText(body, DIALECT.error.code);
  if (own !== undefined) return own;
  for (const inner of nestedRecords(body)) {
    const code = firstText(inner, [...DIALECT.error.codeName, ...DIALECT.error.code]);
    if (code !== undefined) return code;
  }
  return undefined;
}

function messageOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body;
  if (!isRecord(body)) return undefined;
  const own = firstText(body, DIALECT.error.message);
  if (own !== undefined) return own;
  for (const inner of nestedRecords(body)) {
    const message = firstText(inner, DIALECT.error.message);
    if (message !== undefined) return message;
  }
  return firstFieldError(firstField(body, ['errors']));
}

function nestedRecords(body: JsonRecord): JsonRecord[] {
  return DIALECT.error.nested.map((name) => firstField(body, [name])).filter(isRecord);
}

/** `errors` of problem details: a map from field to a list of texts, or a plain list. */
function firstFieldError(errors: unknown): string | undefined {
  const lists = isRecord(errors) ? Object.values(errors) : [errors];
  for (const list of lists) {
    const first: unknown = Array.isArray(list) ? list[0] : list;
    const text = isRecord(first) ? firstText(first, DIALECT.error.message) : asText(first);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** What a reader sees of a text that may be an HTML page: its title, else its text. */
function readable(text: string): string {
  if (!/^\s*</.test(text)) return text;
  const seen: string[] = [];
  let inside = '';
  for (const [piece, name] of text.matchAll(TAG_OR_TEXT)) {
    const hidden = inside === 'script' || inside === 'style';
    if (name !== undefined) {
      const tag = name.toLowerCase();
      if (!hidden || tag === `/${inside}`) inside = tag;
    } else if (inside === 'title' && piece.trim() !== '') {
      return piece;
    } else if (!hidden) {
      seen.push(piece);
    }
  }
  return seen.join(' ');
}

/**
 * Deepest nesting of an answer that is read: far above any resource, far below what overflows the stack where
 * Node-RED copies messages.
 */
const MAX_DEPTH = 64;
/** Bytes: 20,000 cameras on one page are less. */
export const MAX_JSON = 16 * 1024 * 1024;
/** Values of a long answer, those in lists included: in 16 MiB only lists of numbers, or of lists, can have more. */
const MAX_VALUES = 1_500_000;
/** Names in one of its objects: five times as many as there are cameras, where each has a name of its own. */
const MAX_NAMES = 100_000;

/** A body that is longer would hold up alarms while it is parsed at once, in bytes. */
const LARGE = 256 * 1024;
const [BRACE, BRACKET, QUOTE, BLANK] = [0x7b, 0x5b, 0x22, 0x20];
/** Bytes in which it shows whether a body may be JSON. */
const BEGINNING = 1024;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const BOUNDS = { depth: MAX_DEPTH, values: MAX_VALUES, names: MAX_NAMES };

/** A long body, read as JSON before anybody asks for it. */
type LargeJson = { value: unknown } | { fault: 'no JSON' | 'too deep' | 'too much' };

/** Undefined for a body that is short, or too long to be read at all. A page, or a picture, is looked at no further than its beginning. */
export async function readLargeJson(body: Buffer): Promise<LargeJson | undefined> {
  if (body.length <= LARGE || body.length > MAX_JSON) return undefined;
  const json = withoutMark(body);
  if (!beginsLikeJson(json)) return { fault: 'no JSON' };
  try {
    return { value: await parseInSlices(json, BOUNDS) };
  } catch (error) {
    if (error instanceof TooDeepError) return { fault: 'too deep' };
    return { fault: error instanceof TooManyError ? 'too much' : 'no JSON' };
  }
}

function withoutMark(body: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK;
  return BYTE_ORDER_MARK.equals(body.subarray(0, length)) ? body.subarray(length) : body;
}

/** Like an object, a list or a text: a number of this length is nothing that anybody could use. */
function beginsLikeJson(body: Buffer): boolean {
  const first = body.subarray(0, BEGINNING).find((byte) => byte > BLANK);
  return first === undefined || first === BRACE || first === BRACKET || first === QUOTE;
}

const { names, word } = DIALECT.apiKey;

/**
 * True where the body of an answer says that it is the API key, and not something else, that is wrong.
 * @param said what it says of an error
 */
function namesApiKey(body: string, { serverCode = '', serverMessage = '' }: ErrorBody): boolean {
  const joined = body
    .slice(0, MAX_READ)
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '');
  if (names.some((name) => joined.includes(name))) return true;
  return [serverCode, serverMessage].flatMap(wordsIn).includes(word);
}

/** In small letters, those of `InvalidKey` as well. What is but the name of a JSON field says nothing. */
function wordsIn(text: string): string[] {
  return text
    .replaceAll(/"[^"]*"\s*:/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
}

/** Longer ones are taken as this, in milliseconds: nobody who waits for an alarm's video waits a day. */
const LONGEST_MS = 60 * 60 * 1000;

/**
 * Milliseconds that a `Retry-After` header asks to wait: seconds, or the date of an HTTP header (RFC 9110, section
 * 10.2.3), of which the time now is taken off by the clock of the service. Undefined where there is none that can be read.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_MS);
}

/** Bytes that are looked at for what they say of an error: more than is read of it as JSON. */
const LONGEST_ERROR = 64 * 1024;

const TOO_LARGE_HEAD = 431;
const SYSTEM = 'system';
const UTF8 = new TextDecoder();

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface AnswerParts {
  status: number;
  /** Where it came from, redirects followed: links in the body are relative to this. */
  url: URL;
  relation: string;
  /** Names in lower case. */
  headers: Headers;
  body: Buffer | UnreadableBody;
  /** The same as JSON, where it is long. */
  largeJson?: LargeJson | undefined;
  /** Which attempt it is the answer to, counted from 1. */
  attempt: number;
  /** What must not be repeated from the answer: the API key, the password, the cookies. */
  secrets: () => readonly string[];
  /** What it says of an error is not repeated at all. */
  quotesNothing: boolean;
}

/** One complete answer of the service. */
export class Answer {
  readonly status: number;
  readonly url: URL;
  readonly relation: string;
  readonly headers: Headers;
  readonly #body: Buffer | UnreadableBody;
  readonly #largeJson: LargeJson | undefined;
  readonly #attempt: number;
  readonly #secrets: () => readonly string[];
  readonly #quotesNothing: boolean;
  #said: ErrorBody | undefined;
  #told: ErrorBody | undefined;

  constructor(parts: AnswerParts) {
    this.status = parts.status;
    this.url = parts.url;
    this.relation = parts.relation;
    this.headers = parts.headers;
    this.#body = parts.body;
    this.#largeJson = parts.largeJson;
    this.#attempt = parts.attempt;
    this.#secrets = parts.secrets;
    this.#quotesNothing = parts.quotesNothing;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /**
   * 401 and 403 can each mean a bad key, a lost session or a missing right; not so where a code says that it is the
   * camera or its video. The System resource may refuse a key with 400, and say so.
   */
  get refused(): boolean {
    if (this.isHeadTooLarge) return true;
    if (this.status === DIALECT.apiKey.refusal)
      return this.relation === SYSTEM && namesApiKey(this.#text, this.#saidOfError);
    if (this.status !== 401 && this.status !== 403) return false;
    const { cameraOffline, cameraBusy: busy, noVideo } = DIALECT.error;
    return ![cameraOffline, busy, noVideo].some((codes) => this.#says(codes));
  }

  /** What is too much in the head of a request may be cookies, which a new session has not. Of rights it says nothing. */
  get isHeadTooLarge(): boolean {
    return this.status === TOO_LARGE_HEAD;
  }

  /**
   * Unpacked, where it came compressed. Where nobody wants the body it may be as it will: the answer counts.
   * @throws RvmError BAD_RESPONSE where it cannot be read
   */
  get body(): Buffer {
    if (this.#body instanceof UnreadableBody) throw this.error('BAD_RESPONSE', this.#body.reason);
    return this.#body;
  }

  get empty(): boolean {
    return !(this.#body instanceof UnreadableBody) && this.#body.length === 0;
  }

  get contentType(): string | undefined {
    return this.header('content-type');
  }

  get location(): string | undefined {
    return this.header('location');
  }

  /** Milliseconds that the service asks to wait. */
  get retryAfterMs(): number | undefined {
    const now = Date.parse(this.header('date') ?? '');
    return retryAfterMs(this.header('retry-after'), Number.isNaN(now) ? Date.now() : now);
  }

  /** @param name in lower case */
  header(name: string): string | undefined {
    const value = this.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  /**
   * The body as JSON, whatever its media type says.
   * @throws RvmError BAD_RESPONSE if it is no JSON, more of it than is read, or nested more than 64 deep
   */
  json(): unknown {
    if (this.body.length > MAX_JSON) throw this.error('BAD_RESPONSE', FAULTS['too much']);
    const json = this.#largeJson ?? readJson(this.body);
    if ('value' in json) return json.value;
    throw this.error('BAD_RESPONSE', FAULTS[json.fault]);
  }

  /**
   * An error that carries what this answer says about its reason.
   * @param before attempts that went before those of this answer
   */
  error(code: RvmErrorCode, message: string, before = 0): RvmError {
    return new RvmError(code, message, this.#cause(before));
  }

  /** The error of an answer with an unexpected status. */
  statusError(before = 0): RvmError {
    if (this.status === 429) {
      return this.error('RATE_LIMITED', 'The service asks for fewer requests; try again in a while.', before);
    }
    if (this.#says(DIALECT.error.cameraOffline)) return cameraUnreachable(this.#cause(before));
    if (this.#says(DIALECT.error.cameraBusy)) return cameraBusy(this.#cause(before));
    const { serverMessage } = this.#cause(before);
    const reason = serverMessage === undefined ? '.' : `: ${serverMessage}`;
    const asked = this.status >= 400 && this.status < 500;
    const advice = asked ? 'check what was asked for' : 'try again in a while, or report it to the service';
    return this.error(
      'HTTP_ERROR',
      `The service answered ${this.status} to ${this.relation}; ${advice}${reason}`,
      before,
    );
  }

  /** What can be read of the body, for what it says of an error: of a long one the beginning. */
  get #text(): string {
    return this.#body instanceof UnreadableBody ? '' : this.#body.toString('utf8', 0, LONGEST_ERROR);
  }

  /** Read once, for it is asked for several times and a body may be made to cost as much as it can. */
  get #saidOfError(): ErrorBody {
    this.#said ??= readErrorBody(this.#text, []);
    return this.#said;
  }

  /** The same without our secrets, as it may be told. */
  get #toldOfError(): ErrorBody {
    this.#told ??= this.#quotesNothing ? {} : readErrorBody(this.#text, this.#secrets());
    return this.#told;
  }

  #says(codes: readonly string[]): boolean {
    return codes.includes((this.#saidOfError.serverCode ?? '').toLowerCase());
  }

  #cause(before: number): RvmErrorCause {
    const attempts = before + this.#attempt;
    return { status: this.status, relation: this.relation, attempts, ...this.#toldOfError };
  }
}

const FAULTS = {
  'too deep': 'The service answered with JSON that is nested too deep to be used; report it to the service.',
  'too much': 'The service answered with more JSON than can be read; report it to the service.',
  'no JSON': 'The service answered with something else than JSON; check the base URL of the cloud.',
} as const;

function readJson(body: Buffer): LargeJson {
  if (nestsDeeperThan(MAX_DEPTH, body)) return { fault: 'too deep' };
  try {
    // Takes off a byte order mark, which JSON does not allow but some frameworks write.
    return { value: parseSafely(UTF8.decode(body)) };
  } catch {
    return { fault: 'no JSON' };
  }
}

/** Whether the service says that there is no recorded video (yet). */
export function saysNoVideo({ cause: { serverCode = '' } }: RvmError): boolean {
  return DIALECT.error.noVideo.includes(serverCode.toLowerCase());
}
