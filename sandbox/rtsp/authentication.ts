import { createHash, randomBytes } from 'node:crypto';

import { sameText } from '../text';

const REALM = 'SANDBOX';
const MAX_NONCES = 1000;

export interface Authentication {
  scheme: 'basic' | 'digest';
  username: string;
  password: string;
  /** Algorithm of Digest; default MD5. */
  algorithm?: 'MD5' | 'SHA-256';
  /** Seconds that a Digest nonce is valid; a later use is answered with `stale=true`. Default 300. */
  nonceSeconds?: number;
}

/** Checks the user name and password of players (RFC 2326, section 16.2; RFC 2617). */
export class Authenticator {
  readonly #nonces = new Map<string, number>();

  constructor(
    private readonly options: Authentication,
    private readonly now: () => number,
  ) {}

  /** Undefined = authenticated; else the `WWW-Authenticate` header of the 401. */
  challenge(method: string, authorization = ''): string | undefined {
    if (this.options.scheme === 'basic') return this.#checkBasic(authorization);
    return this.#checkDigest(method, authorization);
  }

  #checkBasic(authorization: string): string | undefined {
    const { username, password } = this.options;
    const expected = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    return sameText(authorization, expected) ? undefined : `Basic realm="${REALM}"`;
  }

  #checkDigest(method: string, authorization: string): string | undefined {
    const fields = digestFields(authorization);
    const nonce = fields.get('nonce') ?? '';
    // The `uri` is used as the player sent it: some players send the whole URL, others do not.
    const expected = this.#digest(method, nonce, fields.get('uri') ?? '');
    const isKnown = fields.get('username') === this.options.username;
    if (!isKnown || !sameText(fields.get('response') ?? '', expected)) return this.#digestChallenge(false);
    return this.#isFresh(nonce) ? undefined : this.#digestChallenge(true);
  }

  #digest(method: string, nonce: string, uri: string): string {
    const { username, password } = this.options;
    return this.#hash(
      `${this.#hash(`${username}:${REALM}:${password}`)}:${nonce}:${this.#hash(`${method}:${uri}`)}`,
    );
  }

  #hash(text: string): string {
    const name = this.options.algorithm === 'SHA-256' ? 'sha256' : 'md5';
    return createHash(name).update(text).digest('hex');
  }

  #isFresh(nonce: string): boolean {
    const made = this.#nonces.get(nonce);
    return made !== undefined && this.now() - made <= (this.options.nonceSeconds ?? 300) * 1000;
  }

  #digestChallenge(stale: boolean): string {
    const nonce = randomBytes(16).toString('hex');
    this.#nonces.set(nonce, this.now());
    const [oldest] = this.#nonces.keys();
    if (this.#nonces.size > MAX_NONCES && oldest !== undefined) this.#nonces.delete(oldest);
    const algorithm = this.options.algorithm ?? 'MD5';
    return `Digest realm="${REALM}", nonce="${nonce}", algorithm=${algorithm}${stale ? ', stale=true' : ''}`;
  }
}

function digestFields(authorization: string): Map<string, string> {
  const fields = new Map<string, string>();
  if (!/^digest /i.test(authorization)) return fields;
  for (const match of authorization.slice(7).matchAll(/(\w+)=(?:"([^"]*)"|([^\s,]+))/g))
    fields.set((match[1] ?? '').toLowerCase(), match[2] ?? match[3] ?? '');
  return fields;
}
