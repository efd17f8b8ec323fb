import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Headers, send, sendFault } from './http';
import { languageFor, readAssets, refusedPage, type ViewAssets, viewPage } from './page';
import { readAddress, type ReadAddress } from './signed-address';
import { type Opened, ViewAnswers, type ViewAnswersOptions } from './video-answers';
import { ViewerSessions, type ViewNode } from './visits';

export interface ViewServerOptions extends ViewAnswersOptions {
  /** Key that signs addresses: 32 random bytes, the same at each start and in each instance. */
  key: Uint8Array;
  /** Path of the pages from the root of the server; begins and ends with a slash. */
  prefix: string;
  assets?: ViewAssets;
}

/**
 * Serves the pages with video of alarms and the requests of their players. An address is valid while its node is deployed and
 * its time is not over; there is no login. Only *play* opens video, a page alone does not.
 */
export class ViewServer {
  readonly #viewings = new Map<string, ViewerSessions<ViewNode>>();
  readonly #now: () => number;
  readonly #answers: ViewAnswers;
  /** Newest first. */
  #keys: readonly Uint8Array[];
  #assets: ViewAssets | undefined;

  constructor(private readonly options: ViewServerOptions) {
    this.#now = options.now ?? Date.now;
    this.#answers = new ViewAnswers(options);
    this.#keys = [options.key];
    this.#assets = options.assets;
  }

  /** The key that signs addresses now. */
  get key(): Uint8Array {
    return this.#keys[0] ?? this.options.key;
  }

  /** Signs new addresses with this key; addresses signed with earlier keys stay valid until they expire. */
  useKey(key: Uint8Array): void {
    this.#keys = [key, ...this.#keys.filter((other) => !Buffer.from(key).equals(other))];
  }

  /**
   * Makes the addresses of a node valid.
   * @param id of the node, as in the rights that it grants
   * @returns removes the node and ends its streams
   */
  add(id: string, node: ViewNode): () => void {
    const viewing = new ViewerSessions(node);
    this.#viewings.get(id)?.close();
    this.#viewings.set(id, viewing);
    return () => {
      if (this.#viewings.get(id) === viewing) this.#viewings.delete(id);
      viewing.close();
    };
  }

  /** Answers requests below the prefix. @returns false for another path; the request is then untouched */
  handle(req: IncomingMessage, res: ServerResponse): boolean {
    const target = req.url ?? '';
    const { prefix } = this.options;
    if (!target.startsWith(prefix)) return false;
    res.on('error', () => undefined);
    if (req.method === 'GET' || req.method === 'HEAD') this.#route(req, res, target.slice(prefix.length));
    else {
      const headers = { Allow: 'GET, HEAD' };
      send(req, res, { status: 405, type: 'text/plain', body: 'only GET and HEAD\n', headers });
    }
    return true;
  }

  /** Ends all streams and removes all nodes. */
  close(): void {
    for (const viewing of this.#viewings.values()) viewing.close();
    this.#viewings.clear();
  }

  #route(req: IncomingMessage, res: ServerResponse, rest: string): void {
    const route = routeOf(rest);
    if (route === undefined) return sendFault(req, res, 'INVALID');
    if (route.kind === 'asset') return this.#sendAsset(req, res, route.name);
    if (route.kind === 'page') return this.#sendPage(req, res, route);
    const opened = this.#open(route.address);
    if (typeof opened === 'string') return sendFault(req, res, opened === 'expired' ? 'EXPIRED' : 'INVALID');
    void this.#answers.answer(req, res, opened, route.kind);
  }

  #open(address: string): Opened | 'invalid' | 'expired' {
    const read = this.#read(address);
    if ('refused' in read) return read.refused;
    const { right } = read;
    const viewing = this.#viewings.get(right.node);
    if (viewing === undefined) return 'invalid';
    return { right, viewing, source: viewing.host.source(right), name: address };
  }

  #read(address: string): ReadAddress {
    for (const key of this.#keys) {
      const read = readAddress(key, address, this.#now());
      if ('right' in read || read.refused === 'expired') return read;
    }
    return { refused: 'invalid' };
  }

  #sendAsset(req: IncomingMessage, res: ServerResponse, name: string): void {
    const asset = Object.values(this.#assetsRead()).find((each) => each.name === name);
    if (asset === undefined) return sendFault(req, res, 'INVALID');
    const { type, body } = asset;
    send(req, res, { type, body, headers: { 'Cache-Control': 'public, max-age=31536000, immutable' } });
  }

  #sendPage(req: IncomingMessage, res: ServerResponse, route: Extract<Route, { kind: 'page' }>): void {
    const language = languageFor(req.headers['accept-language'], route.language);
    const opened = this.#open(route.address);
    const headers: Headers = {
      'Content-Security-Policy': POLICY,
      'Content-Language': language.tag,
      Vary: 'Accept-Language',
    };
    const type = 'text/html; charset=utf-8';
    if (typeof opened === 'string') {
      const body = refusedPage(opened, language, this.#assetsRead());
      return send(req, res, { status: opened === 'expired' ? 410 : 404, type, body, headers });
    }
    const body = viewPage(route.address, opened.right, language, this.#assetsRead());
    send(req, res, { type, body, headers });
  }

  #assetsRead(): ViewAssets {
    this.#assets ??= readAssets();
    return this.#assets;
  }
}

/** Nothing from other sites and nothing inline; `blob:` is for media fetched by the player. Dashboards may be on other sites. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  'frame-ancestors *',
].join('; ');

/** The target of a request below the prefix. */
export type Route =
  | { kind: 'asset'; name: string }
  /** With the language in the address, if there is one. */
  | { kind: 'page'; address: string; language?: string }
  | { kind: 'recorded' | 'live' | 'picture' | 'clip'; address: string };

const ASSETS = 'assets/';
/** The part of the target after an address, query included. */
const PARTS: Readonly<Record<string, 'recorded' | 'live' | 'picture' | 'clip'>> = {
  'stream?part=recorded': 'recorded',
  'stream?part=live': 'live',
  picture: 'picture',
  'clip.mp4': 'clip',
};

/**
 * Nothing is decoded or resolved: a target not spelled exactly as in our pages is invalid.
 * @param rest of the request target after the prefix
 */
function routeOf(rest: string): Route | undefined {
  if (rest.startsWith(ASSETS)) return { kind: 'asset', name: rest.slice(ASSETS.length) };
  const [path = ''] = rest.split('?', 1);
  const [address = ''] = path.split('/', 1);
  if (address.length === path.length) return pageOf(address, rest.slice(path.length));
  const name = rest.slice(address.length + 1);
  const kind = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  return kind && { kind, address };
}

/** Other parameters are ignored: a mail program or messenger may append its own to a link. */
function pageOf(address: string, query: string): Route {
  const language = new URLSearchParams(query).get('lang');
  return { kind: 'page', address, ...(language !== null && { language }) };
}
