import { createHash, randomBytes } from 'node:crypto';
import type { Login } from '../../../text';
import type { Challenge } from './challenge';

/** By their names in small letters, the better ones first (RFC 7616, section 3.3). */
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

/** Answers one challenge, as often as its nonce is good (RFC 7616, section 3.4; without `qop` RFC 2069). */
export class Digest {
  readonly #login: Login;
  readonly #challenge: Challenge;
  readonly #algorithm: string;
  readonly #clientNonce: string;
  #count = 0;

  /** @param clientNonce is random, unless a test has to know it */
  constructor(login: Login, challenge: Challenge, clientNonce = randomBytes(16).toString('hex')) {
    this.#login = login;
    this.#challenge = challenge;
    this.#algorithm = algorithmOf(challenge);
    this.#clientNonce = clientNonce;
  }

  /** The value of `Authorization` for one request. */
  authorization(method: string, uri: string): string {
    this.#count += 1;
    const { parameters } = this.#challenge;
    const [realm = '', nonce = ''] = [parameters.get('realm'), parameters.get('nonce')];
    const count = this.#count.toString(16).padStart(8, '0');
    const hasQuality = offersAuth(this.#challenge);
    const quality = hasQuality ? `${count}:${this.#clientNonce}:auth:` : '';
    const proof = this.#hash(
      `${this.#secret(realm, nonce)}:${nonce}:${quality}${this.#hash(`${method}:${uri}`)}`,
    );
    const fields = [
      `username=${quoted(this.#login.username)}`,
      `realm=${quoted(realm)}`,
      `nonce=${quoted(nonce)}`,
      `uri=${quoted(uri)}`,
      `response="${proof}"`,
      ...this.#echoed(),
      ...(hasQuality ? ['qop=auth', `nc=${count}`] : []),
      ...(hasQuality || this.#isOfSession ? [`cnonce="${this.#clientNonce}"`] : []),
    ];
    return `Digest ${fields.join(', ')}`;
  }

  get #isOfSession(): boolean {
    return this.#algorithm.endsWith('-sess');
  }

  #secret(realm: string, nonce: string): string {
    const { username, password } = this.#login;
    const secret = this.#hash(`${username}:${realm}:${password}`);
    return this.#isOfSession ? this.#hash(`${secret}:${nonce}:${this.#clientNonce}`) : secret;
  }

  #hash(text: string): string {
    return createHash(HASHES.get(this.#algorithm) ?? MD5)
      .update(text)
      .digest('hex');
  }

  #echoed(): string[] {
    const { parameters } = this.#challenge;
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
