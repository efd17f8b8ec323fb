import { RvmError } from '../../error';
import { DIALECT } from '../dialect';
import type { Answer } from '../http/answer';
import { isOutage } from '../http/retry-policy';
import { jsonBody } from '../http/records';
import type { RateLimits } from '../http/transport';
import type { Operation } from '../operation';
import { backoff, type StationTiming } from '../timing';
import type { CookieSession } from './cookie-session';
import { systemRequest, SystemResource, type VersionRange } from './system';

/** What a user enters for the login. */
export interface Credentials extends VersionRange {
  apiKey: string;
  username: string;
  password: string;
  /** The names of the login fields are not shown in the specification. */
  loginUserField: string;
  loginPasswordField: string;
  /** Merged into the login body. */
  loginExtra: Readonly<Record<string, unknown>>;
}

const { relations } = DIALECT;
/** Milliseconds between two polls of `/system` after a login. */
const FIRST_LOOK = 100;
const LONGEST_LOOK = 500;

/**
 * The login of the specification (section 5): `GET /system`, POST to `rel/login`, and `GET /system` again,
 * which must now offer `rel/devices`.
 * @returns the System resource as a logged-in client sees it
 * @throws RvmError API_KEY_REJECTED, LOGIN_FAILED, INCOMPATIBLE_VERSION, VERSION_NOT_REQUESTED,
 *   LINK_NOT_OFFERED, UNTRUSTED_LINK, and those of the transport
 */
export async function logIn(
  operation: Operation,
  http: CookieSession,
  options: Credentials,
): Promise<SystemResource> {
  const before = await http.exchange(operation, systemRequest(http.origins, options));
  if (isRefusal(before)) throw keyRejected(before);
  const system = SystemResource.from(before, http.origins);
  if (system.isLoggedIn) return system;

  const answer = await http.exchange(operation, {
    kind: 'login',
    method: 'POST',
    url: system.requireLink(relations.login),
    relation: relations.login,
    body: jsonBody(loginBody(options)),
  });
  // Any client error means a refused login, except those of `noRefusals`.
  const isRefused = answer.status >= 400 && answer.status < 500;
  if (isRefused && !DIALECT.login.noRefusals.includes(answer.status)) {
    throw answer.error(
      'LOGIN_FAILED',
      'The service refuses the login; check user name and password of the Agent User of the Central Station.',
    );
  }
  // A redirect after the form is a success, too; its target is not needed.
  if (answer.status >= 400) throw answer.statusError();
  if (http.cookies.values.length === 0) {
    throw answer.error(
      'LOGIN_FAILED',
      'The service answered the login without a session cookie; report it to the service.',
    );
  }
  return loggedInSystem(operation, http, options);
}

/** A service on several machines may not show the login on all of them at once: `/system` is polled for a while. */
async function loggedInSystem(
  operation: Operation,
  http: CookieSession,
  options: Credentials,
): Promise<SystemResource> {
  const until = performance.now() + http.transport.timing.loginSettlesMs;
  for (let step = 1; ; step += 1) {
    const after = await http.exchange(operation, systemRequest(http.origins, options));
    const loggedIn = isRefusal(after) ? undefined : SystemResource.from(after, http.origins);
    if (loggedIn?.isLoggedIn === true) return loggedIn;
    const pause = backoff(step, FIRST_LOOK, LONGEST_LOOK);
    if (performance.now() + pause < until) await http.transport.pause(operation, 'system', pause);
    else if (isRefusal(after)) throw await explainRefusal(operation, http, options, after);
    else {
      throw after.error(
        'LOGIN_FAILED',
        'The login had no effect: the service offers no cameras after it; check name and password of the Agent User.',
      );
    }
  }
}

/** If `/system` refuses a request with a cookie, it is requested once without: this tells a bad session from a bad key. */
async function explainRefusal(
  operation: Operation,
  http: CookieSession,
  options: Credentials,
  refused: Answer,
): Promise<RvmError> {
  const bare = await http.fresh().exchange(operation, systemRequest(http.origins, options));
  if (isRefusal(bare)) return keyRejected(bare);
  return refused.error('LOGIN_FAILED', 'The service refuses the session it has just opened; try again.', 1);
}

function loginBody(options: Credentials): Record<string, unknown> {
  return {
    ...options.loginExtra,
    [options.loginUserField || DIALECT.login.userField]: options.username,
    [options.loginPasswordField || DIALECT.login.passwordField]: options.password,
  };
}

/** A head that is too large says nothing about key and session. */
function isRefusal(answer: Answer): boolean {
  return answer.refused && !answer.isHeadTooLarge;
}

function keyRejected(answer: Answer): RvmError {
  return answer.error(
    'API_KEY_REJECTED',
    'The service rejects the API key; check the key and the base URL of the cloud.',
  );
}

/**
 * A period without further logins, because the last one did not help: a link was refused in the new session as well, or the
 * login failed while the old session is still valid.
 */
export class LoginCooldown {
  /** The error of a failed login that began the period; undefined if a refusal did. */
  error: RvmError | undefined;
  #until = 0;
  #noneForCookiesUntil = 0;

  /** @param limits rate limits of the service, which may extend the period */
  constructor(
    private readonly timing: StationTiming,
    private readonly limits: RateLimits,
  ) {}

  get isOn(): boolean {
    return performance.now() < this.#until;
  }

  /** Ends the period: a new session may help. */
  end(): void {
    this.#until = 0;
    this.error = undefined;
  }

  /** @param loggedInAt login time of the session in which a request was refused, as of `performance.now()` */
  beginAfterRefusal(loggedInAt: number): void {
    this.#until = loggedInAt + this.timing.refusalMs;
    this.error = undefined;
  }

  /** @param error of the failed login */
  beginAfterFailure(error: RvmError): void {
    const { probeMs, refusalMs } = this.timing;
    const asked = this.limits.against({ relation: error.cause.relation ?? '' })?.ms ?? 0;
    this.#until = performance.now() + Math.max(asked, isOutage(error) ? probeMs : refusalMs);
    this.error = error;
  }

  /**
   * Permits a login because of cookies that have grown: one per `refusalMs`.
   * @returns false if there was one already
   */
  takeLoginForCookies(): boolean {
    const now = performance.now();
    if (now < this.#noneForCookiesUntil) return false;
    this.#noneForCookiesUntil = now + this.timing.refusalMs;
    return true;
  }
}

/**
 * Keys are pasted from e-mails: white space around them is removed; a key that cannot be in a header is rejected.
 * @throws RvmError CONFIG_MISSING
 */
export function usableKey(apiKey: string): string {
  const key = apiKey.trim();
  if (key === '') {
    throw new RvmError(
      'CONFIG_MISSING',
      'The cloud has no API key: enter the key that came by e-mail from the service.',
    );
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new RvmError(
    'CONFIG_MISSING',
    'The API key of the cloud holds characters that no key has: paste it again.',
  );
}

/** @throws RvmError CONFIG_MISSING */
export function requireAgentUser({ username, password }: Credentials): void {
  if (username !== '' && password !== '') return;
  const lacking = username === '' ? 'user name' : 'password';
  throw new RvmError(
    'CONFIG_MISSING',
    `The Central Station has no ${lacking} of an Agent User: enter it in the settings of the Central Station.`,
  );
}

/** Texts that no error may repeat; user and password also as one text, because they are often sent as one. */
export function secretsOf({ apiKey, username, password, loginExtra }: Credentials): string[] {
  return [apiKey.trim(), password, `${username}:${password}`, ...textsIn(loginExtra)];
}

/** The texts and numbers of the extra login fields, all of which may be secret. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
