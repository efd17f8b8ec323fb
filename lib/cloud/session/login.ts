import type { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import { DIALECT } from '../dialect';
import type { HttpSession } from './http-session';
import type { Operation } from '../operation';
import type { Origins } from '../http/origin';
import { systemRequest, type VersionRange } from './system-request';
import { SystemResource } from './system-resource';
import { growingPause } from '../timing';
import { jsonBody, type Transport } from '../http/transport';

export interface LoginOptions extends VersionRange {
  username: string;
  password: string;
  /** The names of the login fields are not shown in the specification. */
  loginUserField: string;
  loginPasswordField: string;
  /** Merged into the login body. */
  loginExtra: Readonly<Record<string, unknown>>;
}

const { relations } = DIALECT;
/** Milliseconds, between looks whether the login is seen. */
const FIRST_LOOK = 100;
const LONGEST_LOOK = 500;

/**
 * The login of the specification (section 5): `GET /system`, POST to `rel/login`, and `GET /system` again, which
 * must now offer `rel/devices`.
 * @returns the System resource as a logged-in client sees it
 * @throws RvmError API_KEY_REJECTED, LOGIN_FAILED, INCOMPATIBLE_VERSION, VERSION_NOT_REQUESTED, LINK_NOT_OFFERED,
 *   UNTRUSTED_LINK, and those of the transport
 */
export async function logIn(
  operation: Operation,
  http: HttpSession,
  origins: Origins,
  options: LoginOptions,
  transport: Transport,
): Promise<SystemResource> {
  const before = await http.exchange(operation, systemRequest(origins, options));
  if (isRefusal(before)) throw keyRejected(before);
  const system = SystemResource.from(before, origins);
  if (system.isLoggedIn) {
    http.loggedIn();
    return system;
  }

  const answer = await http.exchange(operation, {
    kind: 'login',
    method: 'POST',
    url: system.requireLink(relations.login),
    relation: relations.login,
    body: jsonBody(loginBody(options)),
  });
  if (isRefusedLogin(answer)) throw loginRefused(answer);
  // A redirect after the form is success too; the address it points to is of no interest.
  if (answer.status >= 400) throw answer.statusError();
  if (!http.hasCookie) {
    throw answer.error(
      'LOGIN_FAILED',
      'The service answered the login without a session cookie; report it to the service.',
    );
  }

  return seen(operation, http, origins, options, transport);
}

/** A service of several machines may show the login not at once on all of them: it is asked again for a while. */
async function seen(
  operation: Operation,
  http: HttpSession,
  origins: Origins,
  options: LoginOptions,
  transport: Transport,
): Promise<SystemResource> {
  const until = performance.now() + transport.timing.loginSettlesMs;
  for (let step = 1; ; step += 1) {
    const after = await http.exchange(operation, systemRequest(origins, options));
    const loggedIn = isRefusal(after) ? undefined : SystemResource.from(after, origins);
    if (loggedIn?.isLoggedIn === true) {
      http.loggedIn();
      return loggedIn;
    }
    const pause = growingPause(step, FIRST_LOOK, LONGEST_LOOK);
    if (performance.now() + pause < until) await transport.pause(operation, 'system', pause);
    else if (isRefusal(after)) throw await explainRefusal(operation, origins, options, http, after);
    else throw withoutEffect(after);
  }
}

function withoutEffect(answer: Answer): RvmError {
  return answer.error(
    'LOGIN_FAILED',
    'The login had no effect: the service offers no cameras after it; check name and password of the Agent User.',
  );
}

/** `/system` refused with a cookie is asked once more without: that tells a bad session from a bad key. */
async function explainRefusal(
  operation: Operation,
  origins: Origins,
  options: LoginOptions,
  http: HttpSession,
  refused: Answer,
): Promise<RvmError> {
  const bare = await http.fresh().exchange(operation, systemRequest(origins, options));
  if (isRefusal(bare)) return keyRejected(bare);
  return refused.error('LOGIN_FAILED', 'The service refuses the session it has just opened; try again.', 1);
}

function loginBody(options: LoginOptions): Record<string, unknown> {
  return {
    ...options.loginExtra,
    [options.loginUserField || DIALECT.login.userField]: options.username,
    [options.loginPasswordField || DIALECT.login.passwordField]: options.password,
  };
}

/** Of key and session a head that is too large says nothing. */
function isRefusal(answer: Answer): boolean {
  return answer.refused && !answer.isHeadTooLarge;
}

function keyRejected(answer: Answer): RvmError {
  return answer.error(
    'API_KEY_REJECTED',
    'The service rejects the API key; check the key and the base URL of the cloud.',
  );
}

/** Whatever a client has done wrong, here it is the login. */
function isRefusedLogin({ status }: Answer): boolean {
  return status >= 400 && status < 500 && !DIALECT.login.noRefusals.includes(status);
}

function loginRefused(answer: Answer): RvmError {
  return answer.error(
    'LOGIN_FAILED',
    'The service refuses the login; check user name and password of the Agent User of the Central Station.',
  );
}
