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

/** The error for a camera that the service cannot reach. */
function cameraUnreachable(cause: RvmErrorCause): RvmError {
  return new RvmError(
    'DEVICE_OFFLINE',
    'The service cannot reach the camera now, although it may list it as online; try again in a while.',
    cause,
  );
}

/** The error for a camera that another user holds. */
export function cameraBusy(cause: RvmErrorCause): RvmError {
  return new RvmError(
    'CAMERA_BUSY',
    'Somebody else is using the camera, and the service does not let it go; try again in a while.',
    cause,
  );
}

/** Value of `Accept-Encoding`: all codings that can be read. */
export const READABLE_CODINGS = 'gzip, deflate, br';

/** A body that cannot be read, and the text of the error for its reader. */
export class UnreadableBody {
  constructor(readonly reason: string) {}
}

/** For the body of one answer, as it is sent and after decompression. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** An answer that grows beyond the limit is cut off there, however large its unpacked body would be. */
const LIMITS = { maxOutputLength: MAX_ANSWER_BYTES, chunkSize: 64 * 1024 } satisfies ZlibOptions &
  BrotliOptions;
/** Maximum number of characters quoted from the name of a coding, which is a text of the service. */
const MAX_QUOTED = 60;

const ADVICE = 'have the service, or the proxy in between, send it as it is';
/** For an answer beyond the limit, compressed or not. */
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

/** The names in a `Content-Encoding` header of one or more lines, in lower case; none if the body is unchanged. */
function codingsIn(header: string | readonly string[]): string[] {
  return [header]
    .flat()
    .join(',')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
}

/**
 * The body of an answer without its compression, at most 32 MiB. Several codings on top of each other are not read: each would
 * make a decompression bomb a thousand times larger.
 * @param header `Content-Encoding` of the answer
 * @param secrets texts that no error may repeat
 */
export function unpacked(
  body: Buffer,
  header: string | readonly string[] | undefined,
  secrets: () => readonly string[],
): Buffer | Promise<Buffer | UnreadableBody> {
  const codings = header === undefined ? [] : codingsIn(header);
  // Some gateways add the header even to an empty body, such as that of a 204.
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

/** Some services send deflate without the two bytes of the zlib header (RFC 1950, section 2.2). */
function hasZlibHead(packed: Buffer): boolean {
  const [method = 0, flags = 0] = packed;
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}

/**
 * The first of the named fields that is present. The first letter may be in either case, because some services print `Id` for
 * `id`; null counts as missing.
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

/** The first of the named fields that contains a text or a number, as text; empty texts count as missing. */
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

/** The error code and message in the body of an error answer. */
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
/** A tag with its name, or the text up to the next tag. Linear: no character is matched twice. */
const TAG_OR_TEXT = /<(\/?[a-z]*)[^<>]*>?|[^<]+/gi;

/**
 * Reads an error body of any kind: a record with code and message, problem details, a JSON text, an HTML page, plain text or
 * nothing. The specification shows no error body (section 7).
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

/** The visible text of an HTML page: its title, else its content. Other text is returned unchanged. */
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
 * Maximum nesting of an answer: far more than any resource has, far less than what overflows the stack when Node-RED copies
 * messages.
 */
const MAX_DEPTH = 64;
/** Bytes; 20,000 cameras on one page need less. */
export const MAX_JSON = 16 * 1024 * 1024;
/**
 * Maximum number of values in a long answer, including those in lists: in 16 MiB, only lists of numbers or of lists can have
 * more.
 */
const MAX_VALUES = 1_500_000;
/** Maximum number of names in one object: five times the number of cameras, if each camera has a name of its own. */
const MAX_NAMES = 100_000;

/** Bytes: parsing a longer body in one step would delay alarms. */
const LARGE = 256 * 1024;
const [BRACE, BRACKET, QUOTE, BLANK] = [0x7b, 0x5b, 0x22, 0x20];
/** Bytes that show whether a body may be JSON. */
const BEGINNING = 1024;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const BOUNDS = { depth: MAX_DEPTH, values: MAX_VALUES, names: MAX_NAMES };

/** A long body, parsed as JSON in advance. */
type LargeJson = { value: unknown } | { fault: 'no JSON' | 'too deep' | 'too much' };

/** Undefined for a body that is short, or too long to be read. Of a page or a picture only the beginning is read. */
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

/** Whether it starts like an object, a list or a text: no number of this length is of use. */
function beginsLikeJson(body: Buffer): boolean {
  const first = body.subarray(0, BEGINNING).find((byte) => byte > BLANK);
  return first === undefined || first === BRACE || first === BRACKET || first === QUOTE;
}

const { names, word } = DIALECT.apiKey;

/**
 * True if the body of an answer says that the API key is wrong, and nothing else.
 * @param said code and message in that body
 */
function namesApiKey(body: string, { serverCode = '', serverMessage = '' }: ErrorBody): boolean {
  const joined = body
    .slice(0, MAX_READ)
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '');
  if (names.some((name) => joined.includes(name))) return true;
  return [serverCode, serverMessage].flatMap(wordsIn).includes(word);
}

/** Words in lower case; `InvalidKey` is two. Names of JSON fields do not count. */
function wordsIn(text: string): string[] {
  return text
    .replaceAll(/"[^"]*"\s*:/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
}

/** Milliseconds: longer values are reduced to this, because no video of an alarm can wait a day. */
const LONGEST_MS = 60 * 60 * 1000;

/**
 * Milliseconds that a `Retry-After` header asks to wait: seconds, or an HTTP date (RFC 9110, section 10.2.3), from which `now`
 * by the clock of the service is subtracted. Undefined if there is no readable value.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_MS);
}

/** Bytes of a body that are searched for an error: more than is read of it as JSON. */
const LONGEST_ERROR = 64 * 1024;

const TOO_LARGE_HEAD = 431;
const SYSTEM = 'system';
const UTF8 = new TextDecoder();

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface AnswerParts {
  status: number;
  /** The address after redirects: links in the body are relative to it. */
  url: URL;
  relation: string;
  /** Names in lower case. */
  headers: Headers;
  body: Buffer | UnreadableBody;
  /** The body as JSON, if it is long. */
  largeJson?: LargeJson | undefined;
  /** Number of the attempt that was answered, counted from 1. */
  attempt: number;
  /** Texts that no error may repeat: the API key, the password, the cookies. */
  secrets: () => readonly string[];
  /** Errors contain nothing of the answer's text. */
  quotesNothing: boolean;
}

/** One complete answer of the service. */
export class Answer {
  readonly status: number;
  readonly url: URL;
  readonly relation: string;
  readonly headers: Headers;
  readonly #parts: AnswerParts;
  #said: ErrorBody | undefined;
  #maskedBody: ErrorBody | undefined;

  constructor(parts: AnswerParts) {
    this.status = parts.status;
    this.url = parts.url;
    this.relation = parts.relation;
    this.headers = parts.headers;
    this.#parts = parts;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /**
   * 401 and 403 can each mean a bad key, a lost session or a missing permission, unless an error code names the camera or its
   * video as the cause. The System resource may reject a key with 400, and say so.
   */
  get refused(): boolean {
    if (this.isHeadTooLarge) return true;
    if (this.status === DIALECT.apiKey.refusal)
      return this.relation === SYSTEM && namesApiKey(this.#text, this.#saidOfError);
    if (this.status !== 401 && this.status !== 403) return false;
    const { cameraOffline, cameraBusy: busy, noVideo } = DIALECT.error;
    return ![cameraOffline, busy, noVideo].some((codes) => this.#says(codes));
  }

  /**
   * 431: the head of the request was too large, perhaps because of cookies, which a new session does not have. Says nothing
   * about permissions.
   */
  get isHeadTooLarge(): boolean {
    return this.status === TOO_LARGE_HEAD;
  }

  /**
   * Without its compression. An unreadable body is only an error when it is read: the answer itself counts.
   * @throws RvmError BAD_RESPONSE if the body cannot be read
   */
  get body(): Buffer {
    const { body } = this.#parts;
    if (body instanceof UnreadableBody) throw this.error('BAD_RESPONSE', body.reason);
    return body;
  }

  get empty(): boolean {
    const { body } = this.#parts;
    return !(body instanceof UnreadableBody) && body.length === 0;
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
   * @throws RvmError BAD_RESPONSE if it is not JSON, longer than the limit, or nested more than 64 deep
   */
  json(): unknown {
    if (this.body.length > MAX_JSON) throw this.error('BAD_RESPONSE', FAULTS['too much']);
    const json = this.#parts.largeJson ?? readJson(this.body);
    if ('value' in json) return json.value;
    throw this.error('BAD_RESPONSE', FAULTS[json.fault]);
  }

  /**
   * An error that contains the reason from this answer.
   * @param before number of attempts before those of this answer
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

  /** The body as text, for its error code and message: of a long one the beginning. */
  get #text(): string {
    const { body } = this.#parts;
    return body instanceof UnreadableBody ? '' : body.toString('utf8', 0, LONGEST_ERROR);
  }

  /** Cached: it is read several times, and a malicious body may be expensive to read. */
  get #saidOfError(): ErrorBody {
    this.#said ??= readErrorBody(this.#text, []);
    return this.#said;
  }

  /** The same without our secrets, for error texts. */
  get #maskedErrorBody(): ErrorBody {
    this.#maskedBody ??= this.#parts.quotesNothing ? {} : readErrorBody(this.#text, this.#parts.secrets());
    return this.#maskedBody;
  }

  #says(codes: readonly string[]): boolean {
    return codes.includes((this.#saidOfError.serverCode ?? '').toLowerCase());
  }

  #cause(before: number): RvmErrorCause {
    const attempts = before + this.#parts.attempt;
    return { status: this.status, relation: this.relation, attempts, ...this.#maskedErrorBody };
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
    // Decoding removes a byte order mark, which JSON does not allow but some frameworks write.
    return { value: parseSafely(UTF8.decode(body)) };
  } catch {
    return { fault: 'no JSON' };
  }
}

/** Whether the service says that there is no recorded video (yet). */
export function saysNoVideo({ cause: { serverCode = '' } }: RvmError): boolean {
  return DIALECT.error.noVideo.includes(serverCode.toLowerCase());
}
