import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Headers, send, sendFault } from './http';
import { languageFor, readAssets, refusedPage, type ViewAssets, viewPage } from './page';
import { readAddress, type ReadAddress } from './signed-address';
import { type Opened, ViewAnswers, type ViewAnswersOptions } from './video-answers';
import { ViewerSessions, type ViewNode } from './visits';

export interface ViewServerOptions extends ViewAnswersOptions {
  /** Signs the addresses: 32 random bytes, the same at each start and at each instance. */
  key: Uint8Array;
  /** Where the pages are, from the root of the server: begins and ends with a slash. */
  prefix: string;
  /** Who may show a page in a frame (`frame-ancestors` of CSP). Default: all, for dashboards may be elsewhere. */
  frameAncestors?: string;
  /** Default: those of the build. */
  assets?: ViewAssets;
}

/**
 * The pages with the video of alarms, and what their players fetch. An address opens what it names as long as its node is deployed
 * and its time is not up; no login is asked for. Only *play* opens a video: a page alone opens nothing.
 */
export class ViewServer {
  readonly #viewings = new Map<string, ViewerSessions<ViewNode>>();
  readonly #now: () => number;
  readonly #answers: ViewAnswers;
  /** Newest first. */
  #keys: readonly Uint8Array[];
  readonly #policy: string;
  #assets: ViewAssets | undefined;

  constructor(private readonly options: ViewServerOptions) {
    this.#now = options.now ?? Date.now;
    this.#answers = new ViewAnswers(options);
    this.#keys = [options.key];
    this.#policy = contentPolicy(options.frameAncestors ?? '*');
    this.#assets = options.assets;
  }

  /** What signs addresses now. */
  get key(): Uint8Array {
    return this.#keys[0] ?? this.options.key;
  }

  /** From now on this key signs addresses; those of former ones go on until their time is up. */
  useKey(key: Uint8Array): void {
    this.#keys = [key, ...this.#keys.filter((other) => !Buffer.from(key).equals(other))];
  }

  /**
   * From now on the addresses that the node signs open something.
   * @param id of the node, as it stands in the rights that it gives
   * @returns what takes it away, and ends all that is watched
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

  /** Answers where the request is for a place of ours. False = not ours, and untouched. */
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

  /** Ends all that is watched; all nodes are taken away. */
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
      'Content-Security-Policy': this.#policy,
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

/** Nothing from elsewhere, nothing that stands in the page itself; `blob:` is what the player has fetched. */
function contentPolicy(frameAncestors: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors}`,
  ].join('; ');
}

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
function routeOf(rest: string): Route | undefined {
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
