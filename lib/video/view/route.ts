/** What a request below the views asks for. */
export type Route =
  | { kind: 'asset'; name: string }
  /** With the language that the address names, if it names one. */
  | { kind: 'page'; address: string; language?: string }
  | { kind: 'recorded' | 'live' | 'picture' | 'clip'; address: string };

const ASSETS = 'assets/';
/** What stands behind an address, the query included. */
const PARTS: Readonly<Record<string, 'recorded' | 'live' | 'picture' | 'clip'>> = {
  'stream?part=recorded': 'recorded',
  'stream?part=live': 'live',
  picture: 'picture',
  'clip.mp4': 'clip',
};

/**
 * Nothing is decoded or resolved: what is not spelled as our pages spell it is nothing.
 * @param rest of the request target, behind the place of the views
 */
export function routeOf(rest: string): Route | undefined {
  if (rest.startsWith(ASSETS)) return { kind: 'asset', name: rest.slice(ASSETS.length) };
  const [path = ''] = rest.split('?', 1);
  const [address = ''] = path.split('/', 1);
  if (address.length === path.length) return pageOf(address, rest.slice(path.length));
  const name = rest.slice(address.length + 1);
  const kind = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  return kind && { kind, address };
}

/** A mail program or messenger may hang its own parameters on a link. */
function pageOf(address: string, query: string): Route {
  const language = new URLSearchParams(query).get('lang');
  return { kind: 'page', address, ...(language !== null && { language }) };
}
