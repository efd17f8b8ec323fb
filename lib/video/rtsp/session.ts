import { within } from '../../concurrency/timers';
import type { Login } from '../../text';
import { Authentication } from './authentication/authentication';
import type { Connection, Listener } from './connection';
import { sessionIn } from './protocol/session-header';
import type { Answer } from './protocol/message';

const UNAUTHORIZED = 401;
/** Proofs of the login for one request: a nonce may have aged, and once more while it is asked anew. */
const MOST_PROOFS = 2;

/** What is asked of one relay over one connection: each request with the login and the session that it needs. */
export class RtspSession {
  readonly #connection: Connection;
  readonly #authentication: Authentication;
  #id: string | undefined;
  #timeout = 0;
  #url = '';
  #methods: readonly string[] = [];

  constructor(connection: Connection, login: Login | undefined) {
    this.#connection = connection;
    this.#authentication = new Authentication(login);
  }

  /** Seconds without a sign of life after which the server ends it. */
  get timeout(): number {
    return this.#timeout;
  }

  /** What the server can be asked, by its last `Public`; none where it has not said. */
  get methods(): readonly string[] {
    return this.#methods;
  }

  /** Where requests for the whole of it go. */
  get url(): string {
    return this.#url;
  }

  set url(url: string) {
    this.#url = url;
  }

  /**
   * Sends a request and waits for its answer, whatever the status.
   * @param headers beyond those of login and session
   * @param ms that the answer may take; as all others, unless said
   * @throws RvmError where there is none
   */
  async ask(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>> = {},
    ms?: number,
  ): Promise<Answer> {
    for (let proofs = 0; ; proofs += 1) {
      const all = { ...headers, ...this.#ownHeaders(method, url) };
      const answer = await this.#connection.request(method, url, all, ms);
      if (answer.status !== UNAUTHORIZED) return this.#noted(answer);
      const isWorthIt =
        proofs < MOST_PROOFS && this.#authentication.takes(answer.headers.all('www-authenticate'));
      if (!isWorthIt) return answer;
    }
  }

  /** Channels whose packets will come. */
  expect(channels: Iterable<number>): void {
    this.#connection.expect(channels);
  }

  listen(listener: Listener): void {
    this.#connection.listen(listener);
  }

  sendPacket(channel: number, data: Buffer): void {
    this.#connection.sendPacket(channel, data);
  }

  /** Nothing is read until `resume`. */
  pause(): void {
    this.#connection.pause();
  }

  resume(): void {
    this.#connection.resume();
  }

  /**
   * Tells the server that it is over, if there was a session, and closes the connection. Never fails.
   * @param ms that the answer may take
   */
  async end(ms: number): Promise<void> {
    if (this.#id !== undefined) {
      this.#connection.resume();
      await within(
        this.ask('TEARDOWN', this.#url).catch(() => undefined),
        ms,
      );
    }
    this.#connection.destroy();
  }

  #ownHeaders(method: string, url: string): Record<string, string> {
    const authorization = this.#authentication.authorization(method, url);
    return {
      ...(this.#id === undefined ? {} : { Session: this.#id }),
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    };
  }

  #noted(answer: Answer): Answer {
    this.#authentication.accepted();
    const session = answer.status === 200 ? sessionIn(answer.headers.get('session')) : undefined;
    if (this.#id === undefined && session !== undefined) {
      this.#id = session.id;
      this.#timeout = session.timeout;
    }
    const methods = answer.headers.all('public').join(',');
    if (methods !== '') this.#methods = methods.split(',').map((name) => name.trim().toUpperCase());
    return answer;
  }
}
