import { createHash, randomBytes } from 'node:crypto';
import { basicAuthorization, type Login } from '../../text';

const CONTROL = /\p{Cc}/u;

/**
 * Authenticates with the login of an RTSP URL as the server requests it: by Digest where possible, else by Basic (RFC 2326,
 * section 16).
 */
export class Authentication {
  readonly #login: Login | undefined;
  #proof: Digest | 'basic' | undefined;
  #wasAccepted = false;

  constructor(login: Login | undefined) {
    // A user name with control characters could forge lines of a request.
    this.#login = login !== undefined && CONTROL.test(login.username) ? undefined : login;
  }

  /** The value of `Authorization` for one request; undefined until a server has sent a challenge. */
  authorization(method: string, uri: string): string | undefined {
    if (this.#login === undefined || this.#proof === undefined) return undefined;
    return this.#proof === 'basic' ? basicAuthorization(this.#login) : this.#proof.authorization(method, uri);
  }

  /** The server accepted the last proof: a later refusal means a stale nonce, even if not marked as such. */
  accepted(): void {
    this.#wasAccepted = this.#proof !== undefined;
  }

  /**
   * Takes the challenge of an answer 401.
   * @param headers its `WWW-Authenticate`
   * @returns false where a retry is useless: there is no login, or it was refused
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

/** A challenge of a server (RFC 9110, section 11.6.1). */
interface Challenge {
  /** In lower case, such as `digest`. */
  scheme: string;
  /** Names in lower case. */
  parameters: ReadonlyMap<string, string>;
}

/** A scheme, or a parameter with its value: bare, or in quotes. */
const PART = /([A-Za-z][\w-]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/g;

/** The challenges of `WWW-Authenticate` headers, each of which may contain several. */
export function challengesIn(headers: readonly string[]): Challenge[] {
  return headers.flatMap((header) => {
    const found: { scheme: string; parameters: Map<string, string> }[] = [];
    for (const [, name = '', quoted, bare] of header.matchAll(PART)) {
      const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
      if (value === undefined) found.push({ scheme: name.toLowerCase(), parameters: new Map() });
      else found.at(-1)?.parameters.set(name.toLowerCase(), value);
    }
    return found;
  });
}

/** Hashes by algorithm name in lower case, the best first (RFC 7616, section 3.3). */
const HASHES = new Map([
  ['sha-256', 'sha256'],
  ['sha-256-sess', 'sha256'],
  ['md5', 'md5'],
  ['md5-sess', 'md5'],
]);
const MD5 = 'md5';

/**
 * The best of the Digest challenges that can be answered.
 * @returns undefined where there is none
 */
export function bestDigest(challenges: readonly Challenge[]): Challenge | undefined {
  const answerable = challenges.filter(isAnswerable);
  for (const algorithm of HASHES.keys()) {
    const found = answerable.find((challenge) => algorithmOf(challenge) === algorithm);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isAnswerable(challenge: Challenge): boolean {
  const { scheme, parameters } = challenge;
  if (scheme !== 'digest' || !HASHES.has(algorithmOf(challenge))) return false;
  return parameters.has('nonce') && (!parameters.has('qop') || offersAuth(challenge));
}

function algorithmOf({ parameters }: Challenge): string {
  return (parameters.get('algorithm') ?? MD5).toLowerCase();
}

function offersAuth({ parameters }: Challenge): boolean {
  const offered = parameters.get('qop') ?? '';
  return offered.split(',').some((quality) => quality.trim().toLowerCase() === 'auth');
}

/** Answers one challenge while its nonce is valid (RFC 7616, section 3.4; without `qop` RFC 2069). */
export class Digest {
  readonly #algorithm: string;
  #count = 0;

  /** @param clientNonce is random, unless a test has to know it */
  constructor(
    private readonly login: Login,
    private readonly challenge: Challenge,
    private readonly clientNonce: string = randomBytes(16).toString('hex'),
  ) {
    this.#algorithm = algorithmOf(challenge);
  }

  /** The value of `Authorization` for one request. */
  authorization(method: string, uri: string): string {
    this.#count += 1;
    const { parameters } = this.challenge;
    const [realm = '', nonce = ''] = [parameters.get('realm'), parameters.get('nonce')];
    const count = this.#count.toString(16).padStart(8, '0');
    const hasQuality = offersAuth(this.challenge);
    const quality = hasQuality ? `${count}:${this.clientNonce}:auth:` : '';
    const proof = this.#hash(
      `${this.#secret(realm, nonce)}:${nonce}:${quality}${this.#hash(`${method}:${uri}`)}`,
    );
    const fields = [
      `username=${quoted(this.login.username)}`,
      `realm=${quoted(realm)}`,
      `nonce=${quoted(nonce)}`,
      `uri=${quoted(uri)}`,
      `response="${proof}"`,
      ...this.#echoed(),
      ...(hasQuality ? ['qop=auth', `nc=${count}`] : []),
      ...(hasQuality || this.#isOfSession ? [`cnonce="${this.clientNonce}"`] : []),
    ];
    return `Digest ${fields.join(', ')}`;
  }

  get #isOfSession(): boolean {
    return this.#algorithm.endsWith('-sess');
  }

  #secret(realm: string, nonce: string): string {
    const { username, password } = this.login;
    const secret = this.#hash(`${username}:${realm}:${password}`);
    return this.#isOfSession ? this.#hash(`${secret}:${nonce}:${this.clientNonce}`) : secret;
  }

  #hash(text: string): string {
    return createHash(HASHES.get(this.#algorithm) ?? MD5)
      .update(text)
      .digest('hex');
  }

  #echoed(): string[] {
    const { parameters } = this.challenge;
    const [algorithm, opaque] = [parameters.get('algorithm'), parameters.get('opaque')];
    return [
      ...(algorithm === undefined ? [] : [`algorithm=${algorithm}`]),
      ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ];
  }
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
