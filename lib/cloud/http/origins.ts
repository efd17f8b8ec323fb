import { RvmError, type RvmErrorCode } from '../../error';
import { redact } from '../secret-mask';

/** Maximum number of characters quoted from a foreign host, which is a text of the service. */
const MAX_QUOTED = 100;

/** An address that may receive the API key and the cookie. Only `Origins` creates one. */
export class TrustedUrl extends URL {
  /** Makes the type nominal: a plain URL is no TrustedUrl. */
  declare private readonly trusted: true;

  /** A copy whose path and query may be changed. */
  copy(): TrustedUrl {
    return new TrustedUrl(this.href);
  }
}

/**
 * The origins that links of the service may point to: that of the base URL and those that the user trusts as well. The API key
 * and the session cookie are sent nowhere else.
 */
export class Origins {
  /** Address of the System resource, the one fixed path of the service (specification, section 1). */
  readonly system: TrustedUrl;
  readonly #trusted: ReadonlySet<string>;
  readonly #secrets: readonly string[];

  /**
   * @param secrets texts that no error may repeat
   * @throws RvmError CONFIG_MISSING if the base URL is not an http or https address, BAD_INPUT if a trusted
   *   origin is not
   */
  constructor(baseUrl: string, trustedOrigins: readonly string[], secrets: readonly string[]) {
    const base = parseWeb(baseUrl, 'The base URL of the cloud');
    const path = withoutClosingSlashes(base.pathname).replace(/\/system$/, '');
    // Host names and schemes are in lower case.
    this.#secrets = [...secrets, ...secrets.map((secret) => secret.toLowerCase())];
    const extra = trustedOrigins.map((origin) => origin.trim()).filter((origin) => origin !== '');
    this.#trusted = new Set([
      base.origin,
      ...extra.map((origin) => parseWeb(origin, 'Each trusted origin of the cloud', 'BAD_INPUT').origin),
    ]);
    this.system = this.resolve(`${base.origin}${path}/system`, base, 'system');
  }

  /**
   * Makes a link absolute, relative to the resource that carried it; its query is kept as sent.
   * @throws RvmError UNTRUSTED_LINK if it points to a foreign origin, BAD_RESPONSE if it is no address.
   */
  resolve(link: string, resource: URL, relation: string): TrustedUrl {
    if (!URL.canParse(link, resource.href)) {
      throw new RvmError('BAD_RESPONSE', 'The service sent a link that is not an address.', { relation });
    }
    const url = new TrustedUrl(link, resource.href);
    if (!isWeb(url) || !this.#trusted.has(url.origin)) {
      throw new RvmError(
        'UNTRUSTED_LINK',
        `A link points to ${this.#quote(url)}; if that is right, add it to the trusted origins of the cloud.`,
        { relation },
      );
    }
    url.username = '';
    url.password = '';
    url.hash = '';
    return url;
  }

  #quote(url: URL): string {
    const origin = url.host === '' ? url.protocol : `${url.protocol}//${url.host}`;
    const quoted = redact(origin, this.#secrets, MAX_QUOTED);
    return url.host === '' ? `the scheme ${quoted}` : quoted;
  }
}

/** Checks the scheme: an address such as `blob:https://…` has the origin of the address inside. */
function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:';
}

function withoutClosingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function parseWeb(text: string, what: string, code: RvmErrorCode = 'CONFIG_MISSING'): URL {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url !== undefined && isWeb(url)) return url;
  throw new RvmError(code, `${what} must be an address that starts with https:// or http://.`);
}
