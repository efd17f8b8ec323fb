import { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import { Attempt } from '../http/attempt';
import { CookieRotation, type Judged, type RotationMemory, type Tried } from './cookie-rotation';
import type { Operation } from '../operation';
import type { Origins } from '../http/origin';
import type { Line } from '../../concurrency/semaphore';
import { metered } from '../http/metered';
import { SessionCookies } from '../http/session-cookies';
import type { ServiceRequest, Transport } from '../http/transport';

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Those that say that the request was not carried out, and is to be sent elsewhere as it is. */
const ELSEWHERE: ReadonlySet<number> = new Set([307, 308]);
const WRONG_METHOD = 405;

/** Requests that share one cookie jar. */
export class HttpSession {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #cookies: SessionCookies;
  readonly #memory: RotationMemory;
  readonly #rotation: CookieRotation;

  /** With an empty jar: a late answer to an old session cannot spoil the cookies of the new one. */
  constructor(transport: Transport, origins: Origins, memory: RotationMemory) {
    this.#transport = transport;
    this.#origins = origins;
    this.#cookies = new SessionCookies(origins.system.origin);
    this.#memory = memory;
    this.#rotation = new CookieRotation(() => this.#cookies.text, memory);
  }

  /** The same connections with an empty cookie jar. */
  fresh(): HttpSession {
    return new HttpSession(this.#transport, this.#origins, this.#memory);
  }

  get hasCookie(): boolean {
    return this.#cookies.values.length > 0;
  }

  /** The login has succeeded: the cookies of now are those of the session. */
  loggedIn(): void {
    this.#cookies.loggedIn();
  }

  /**
   * Sends a request. Redirects of a GET are followed, and those of others that say they were not carried out, each hop only to an
   * origin we trust; one that names its other method in a 405 is sent once with that. Other answers are given back as they are.
   * @throws RvmError UNTRUSTED_LINK as well
   */
  async exchange(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    return (await this.try(operation, wanted, { attempt: new Attempt() })).answer;
  }

  /** The same as one of several attempts, and whether a refusal is certain. */
  async try(operation: Operation, { otherMethod, ...wanted }: ServiceRequest, tried: Tried): Promise<Judged> {
    const judged = await this.#send(operation, wanted, tried);
    const { answer } = judged;
    if (otherMethod === undefined || !names(answer, otherMethod)) return judged;
    // Redirects may have led to where it was refused.
    const url = this.#origins.resolve(answer.url.href, answer.url, wanted.relation);
    // It asks for no more than the first did.
    return this.#send(operation, { kind: 'GET', ...wanted, url, method: otherMethod }, tried);
  }

  /** Where what it had besides the cookies of the login was too much, it is sent once more without. */
  async #send(operation: Operation, wanted: ServiceRequest, tried: Tried): Promise<Judged> {
    const first = await this.#sendOnce(operation, wanted, tried);
    if (!this.#wasTooMuch(first, tried)) return first;
    const second = await this.#sendOnce(operation, wanted, tried);
    // Its answer may have brought others again.
    if (second.answer.isHeadTooLarge) this.#cookies.dropOthers();
    return second;
  }

  #wasTooMuch({ answer }: Judged, { attempt }: Tried): boolean {
    return answer.isHeadTooLarge && this.#cookies.dropOthers() && attempt.cookies !== this.#cookies.text;
  }

  #sendOnce(operation: Operation, wanted: ServiceRequest, tried: Tried): Promise<Judged> {
    const { attempt } = tried;
    const isLogin = wanted.kind === 'login';
    return this.#rotation.send(operation, { ...tried, isLogin }, (line) =>
      this.#followRedirects(operation, wanted, { attempt, line }),
    );
  }

  /**
   * Does work while none of its requests is under way, where they go one at a time: a service that knows one cookie for a user
   * would take the answer to the old session for the newest one.
   */
  whileQuiet<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    return this.#memory.isStrict ? this.#rotation.whileQuiet(operation, work) : work();
  }

  async #followRedirects(
    operation: Operation,
    wanted: ServiceRequest,
    { attempt, line }: { attempt: Attempt; line: Line },
  ): Promise<Answer> {
    const followed = wanted.method === 'GET' ? REDIRECTS : ELSEWHERE;
    let url = wanted.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const via = { attempt, line, cookies: this.#cookies };
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

/** True where a resource refuses the method of a request, and says that it takes this one (RFC 9110, section 15.5.6). */
function names(answer: Answer, method: string): boolean {
  const allowed = answer.status === WRONG_METHOD ? (answer.header('allow') ?? '') : '';
  return allowed.split(',').some((name) => name.trim().toUpperCase() === method);
}
