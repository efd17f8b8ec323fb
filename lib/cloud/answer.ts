import sjson from 'secure-json-parse';
import { RvmError, type RvmErrorCause, type RvmErrorCode } from '../error';
import { readErrorBody } from './error-body';
import { nestsDeeperThan } from './json-depth';

/**
 * Deepest nesting of an answer that is read: far above any resource, far below what overflows the stack where
 * Node-RED copies messages.
 */
const MAX_DEPTH = 64;

export interface AnswerParts {
  status: number;
  /** Where it came from, redirects followed: links in the body are relative to this. */
  url: URL;
  relation: string;
  contentType: string | undefined;
  location: string | undefined;
  body: Buffer;
  /** What must not be repeated from the answer: the API key, the password, the cookies. */
  secrets: () => readonly string[];
}

/** One complete answer of the service. */
export class Answer {
  readonly status: number;
  readonly url: URL;
  readonly relation: string;
  readonly contentType: string | undefined;
  readonly location: string | undefined;
  readonly #body: Buffer;
  readonly #secrets: () => readonly string[];

  constructor(parts: AnswerParts) {
    this.status = parts.status;
    this.url = parts.url;
    this.relation = parts.relation;
    this.contentType = parts.contentType;
    this.location = parts.location;
    this.#body = parts.body;
    this.#secrets = parts.secrets;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** 401 and 403 can each mean a bad key, a lost session or a missing right. */
  get refused(): boolean {
    return this.status === 401 || this.status === 403;
  }

  get empty(): boolean {
    return this.#body.length === 0;
  }

  /**
   * The body as JSON, whatever its media type says.
   * @throws RvmError BAD_RESPONSE if it is no JSON, or nested more than 64 deep
   */
  json(): unknown {
    if (nestsDeeperThan(MAX_DEPTH, this.#body)) {
      throw this.error(
        'BAD_RESPONSE',
        'The service answered with JSON that is nested too deep to be used; report it to the service.',
      );
    }
    try {
      // Takes off a byte order mark, which JSON does not allow but some frameworks write.
      const text = new TextDecoder().decode(this.#body);
      const parsed: unknown = sjson.parse(text, undefined, {
        protoAction: 'remove',
        constructorAction: 'remove',
      });
      return parsed;
    } catch {
      throw this.error(
        'BAD_RESPONSE',
        'The service answered with something else than JSON; check the base URL of the cloud.',
      );
    }
  }

  /** An error that carries what this answer says about its reason. */
  error(code: RvmErrorCode, message: string, attempts = 1): RvmError {
    return new RvmError(code, message, this.#cause(attempts));
  }

  /** The error of an answer with an unexpected status. */
  statusError(attempts = 1): RvmError {
    if (this.status === 429) {
      return this.error(
        'RATE_LIMITED',
        'The service asks for fewer requests; try again in a while.',
        attempts,
      );
    }
    const { serverMessage } = this.#cause(attempts);
    const reason = serverMessage === undefined ? '' : `: ${serverMessage}`;
    return this.error(
      'HTTP_ERROR',
      `The service answered ${this.status} to ${this.relation}${reason}`,
      attempts,
    );
  }

  #cause(attempts: number): RvmErrorCause {
    const details = readErrorBody(this.#body.toString('utf8'), this.#secrets());
    return { status: this.status, relation: this.relation, attempts, ...details };
  }
}
