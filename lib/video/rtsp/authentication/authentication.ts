import { basicAuthorization, type Login } from '../../../text';
import { challengesIn } from './challenge';
import { bestDigest, Digest } from './digest';

const CONTROL = /\p{Cc}/u;

/** Proves the login of an RTSP URL in the way that the server asks for: by Digest, if it can be, else by Basic (RFC 2326, section 16). */
export class Authentication {
  readonly #login: Login | undefined;
  #proof: Digest | 'basic' | undefined;
  #wasAccepted = false;

  constructor(login: Login | undefined) {
    // It would forge lines of our requests.
    this.#login = login !== undefined && CONTROL.test(login.username) ? undefined : login;
  }

  /** The value of `Authorization` for one request; undefined until a server has asked for one. */
  authorization(method: string, uri: string): string | undefined {
    if (this.#login === undefined || this.#proof === undefined) return undefined;
    return this.#proof === 'basic' ? basicAuthorization(this.#login) : this.#proof.authorization(method, uri);
  }

  /** The last proof was good. A later refusal of it then means that it has aged, also where the server does not say so. */
  accepted(): void {
    this.#wasAccepted = this.#proof !== undefined;
  }

  /**
   * Takes the challenge of an answer 401.
   * @param headers its `WWW-Authenticate`
   * @returns false where it would be in vain to ask again: there is no login, or it was refused
   */
  takes(headers: readonly string[]): boolean {
    if (this.#login === undefined) return false;
    const challenges = challengesIn(headers);
    const digest = bestDigest(challenges);
    const isStale = digest?.parameters.get('stale')?.toLowerCase() === 'true';
    if (this.#proof !== undefined && !isStale && !this.#wasAccepted) return false;
    this.#wasAccepted = false;
    if (digest !== undefined) this.#proof = new Digest(this.#login, digest);
    else if (challenges.some(({ scheme }) => scheme === 'basic')) this.#proof = 'basic';
    return this.#proof !== undefined;
  }
}
