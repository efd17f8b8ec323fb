/** What the `Authorization` lines of a request say, before anything is compared. */
export type AuthorizationReading =
  | { kind: 'absent' }
  /** Another scheme, or the scheme word alone: there is no signature to check. */
  | { kind: 'no-signature' }
  /** More than one line, or a value of impossible form. */
  | { kind: 'malformed' }
  | { kind: 'signature'; text: string }
  /** A Base-64 text without the scheme word; counts only where the station allows it. */
  | { kind: 'bare'; text: string };

const SCHEME = 'hmac-sha256';
const BARE_SIGNATURE = /^[A-Za-z0-9+/]{43}=$/;

/** True for a text of the form of a signature: 32 bytes in Base-64. */
export function isSignatureText(text: string): boolean {
  return BARE_SIGNATURE.test(text);
}

/**
 * Values of all `Authorization` lines, from the raw header list: the usual header object shows only the first
 * of several, while a proxy in front may have looked at the other.
 */
export function authorizationLines(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && isAuthorization(rawHeaders[index - 1]));
}

/** The raw header list without its `Authorization` lines. */
export function withoutAuthorization(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, index) => !isAuthorization(rawHeaders[index - (index % 2)]));
}

/** Names of headers have no case. */
export function isAuthorization(name: string | undefined): boolean {
  return name?.toLowerCase() === 'authorization';
}

/** Reads `Authorization: HMAC-SHA256 <BASE64_HMAC>` (specification, section 5). Schemes have no case in HTTP. */
export function readAuthorization(lines: readonly string[]): AuthorizationReading {
  const [line, ...others] = lines;
  if (line === undefined) return { kind: 'absent' };
  if (others.length > 0) return { kind: 'malformed' };
  // Not trimmed by a pattern: blanks in the middle would take it the square of their number.
  const [scheme = '', text, ...more] = line.split(/[ \t]+/).filter((word) => word !== '');
  if (text === undefined)
    return isSignatureText(scheme) ? { kind: 'bare', text: scheme } : { kind: 'no-signature' };
  if (scheme.toLowerCase() !== SCHEME) return { kind: 'no-signature' };
  // White space inside the Base-64 text: a lax decoder would accept it, the comparison of texts does not.
  return more.length > 0 ? { kind: 'malformed' } : { kind: 'signature', text };
}
