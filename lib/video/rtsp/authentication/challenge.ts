/** What a server wants to have proven (RFC 9110, section 11.6.1). */
export interface Challenge {
  /** In small letters, such as `digest`. */
  scheme: string;
  /** Names in small letters. */
  parameters: ReadonlyMap<string, string>;
}

/** A scheme, or a parameter with its value: bare, or in quotes. */
const PART = /([A-Za-z][\w-]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/g;

/** The challenges of `WWW-Authenticate` headers, of which each may hold several. */
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
