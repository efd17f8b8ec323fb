import { RvmError, type RvmErrorCause, type RvmErrorCode } from '../../error';
import { cameraBusy, cameraUnreachable } from './camera-errors';
import { UnreadableBody } from './content-coding';
import { DIALECT } from '../dialect';
import { readErrorBody, type ErrorBody } from './error-body';
import { parseSafely } from '../../json/json';
import { nestsDeeperThan } from '../../json/scan';
import { MAX_DEPTH, MAX_JSON } from './json-limits';
import type { LargeJson } from './large-json';
import { namesApiKey } from './key-refusal';
import { retryAfterMs } from './retry-after';

/** Bytes that are looked at for what they say of an error: more than is read of it as JSON. */
const LONGEST_ERROR = 64 * 1024;

const TOO_LARGE_HEAD = 431;
const SYSTEM = 'system';
const UTF8 = new TextDecoder();

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface AnswerParts {
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
