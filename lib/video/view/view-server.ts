import type { IncomingMessage, ServerResponse } from 'node:http';
import { RvmError } from '../../error';
import { asError } from '../../concurrency/as-error';
import type { MediaStream } from '../media';
import { readAddress } from './address';
import { send, sendFault, sendFile, type Headers, type ViewFault } from './answer';
import { readAssets, type ViewAssets } from './assets';
import { FragmentAnswer, type Fragments } from './fragment-answer';
import { languageFor } from './language';
import { refusedPage, viewPage } from './page';
import type { ViewRight } from './right';
import { routeOf, type Route } from './route';
import type { ViewNode, ViewPart } from './view-source';
import { LONGEST_VISIT, Viewing } from './viewing';

/** For so long the picture of a camera is that of now. Milliseconds. */
const LIVE_PICTURE = 2000;

export interface ViewServerOptions {
  /** Signs the addresses: 32 random bytes, the same at each start and at each instance. */
  key: Uint8Array;
  /** Where the pages are, from the root of the server: begins and ends with a slash. */
  prefix: string;
  /** Who may show a page in a frame (`frame-ancestors` of CSP). Default: all, for dashboards may be elsewhere. */
  frameAncestors?: string;
  /** Wall clock, in milliseconds. */
  now?: () => number;
  /** Milliseconds of a clock that never jumps. */
  steady?: () => number;
  /** Default: those of the build. */
  assets?: ViewAssets;
  /** Makes fragmented MP4 for one viewer. It tells the length, in seconds: browsers stutter with what seems to have none. */
  fragments: (stream: MediaStream, seconds: number) => Fragments;
}

/** What one address opens at a node that is deployed. */
interface Opened {
  right: ViewRight;
  viewing: Viewing;
  address: string;
}

/**
 * The pages with the video of alarms, and what their players fetch. An address opens what it names as long as its node is deployed
 * and its time is not up; no login is asked for. Only *play* opens a video: a page alone opens nothing.
 */
export class ViewServer {
  readonly #viewings = new Map<string, Viewing>();
  readonly #now: () => number;
  readonly #steady: () => number;
  readonly #policy: string;
  #assets: ViewAssets | undefined;

  constructor(private readonly options: ViewServerOptions) {
    this.#now = options.now ?? Date.now;
    this.#steady = options.steady ?? (() => performance.now());
    this.#policy = contentPolicy(options.frameAncestors ?? '*');
    this.#assets = options.assets;
  }

  /**
   * From now on the addresses that the node signs open something.
   * @param id of the node, as it stands in the rights that it gives
   * @returns what takes it away, and ends all that is watched
   */
  add(id: string, node: ViewNode): () => void {
    const viewing = new Viewing(node);
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
    if (!isAllowed(opened.right, route.kind)) return sendFault(req, res, 'NOT_ALLOWED');
    // Whoever wants the head alone opens no video for that.
    if (req.method === 'HEAD') return send(req, res, { type: 'application/octet-stream', body: '' });
    if (route.kind === 'recorded' || route.kind === 'live') void this.#stream(req, res, opened, route.kind);
    else void this.#file(req, res, opened, route.kind);
  }

  #open(address: string): Opened | 'invalid' | 'expired' {
    const read = readAddress(this.options.key, address, this.#now());
    if ('refused' in read) return read.refused;
    const viewing = this.#viewings.get(read.right.node);
    return viewing === undefined ? 'invalid' : { right: read.right, viewing, address };
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

  async #stream(req: IncomingMessage, res: ServerResponse, opened: Opened, part: ViewPart): Promise<void> {
    const { right, viewing } = opened;
    const leave = viewing.takePlace();
    if (leave === undefined) return sendFault(req, res, 'VIEWERS');
    const visit = viewing.begin(res, right.expires - this.#now());
    try {
      const stream = await viewing.node.source(right).open({ kind: part }, visit.signal);
      const fragments = this.options.fragments(stream, secondsOf(right, part));
      const answer = new FragmentAnswer(res, fragments, part, this.#steady);
      await answer.send(stream, visit.signal);
    } catch (error) {
      fail(req, res, viewing.node, asError(error));
    } finally {
      visit.end();
      leave();
    }
  }

  async #file(
    req: IncomingMessage,
    res: ServerResponse,
    opened: Opened,
    kind: 'picture' | 'clip',
  ): Promise<void> {
    const { right, viewing } = opened;
    const name = this.#nameOf(opened, kind);
    if (!viewing.files.has(name) && viewing.isMakingMost) return sendFault(req, res, 'VIEWERS');
    const visit = viewing.begin(res, right.expires - this.#now());
    const make = (signal: AbortSignal): Promise<Buffer> =>
      viewing.make(() => viewing.node.source(right)[kind](signal));
    try {
      const file = await viewing.files.get(name, make, visit.signal);
      sendFile(req, res, kind === 'clip' ? 'video/mp4' : 'image/jpeg', file);
    } catch (error) {
      fail(req, res, viewing.node, asError(error));
    } finally {
      visit.end();
    }
  }

  /** A picture of now is soon another one. */
  #nameOf({ right, address }: Opened, kind: 'picture' | 'clip'): string {
    const name = `${address}/${kind}`;
    return right.recorded === undefined ? `${name}/${Math.floor(this.#now() / LIVE_PICTURE)}` : name;
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

function isAllowed({ recorded, live }: ViewRight, kind: ViewPart | 'picture' | 'clip'): boolean {
  if (kind === 'live') return live;
  return kind === 'picture' || recorded !== undefined;
}

/** What is live gets the length that it has at most. */
function secondsOf({ recorded }: ViewRight, part: ViewPart): number {
  if (part === 'live' || recorded === undefined) return LONGEST_VISIT / 1000;
  return (recorded.to - recorded.from) / 1000;
}

/** What has begun is cut: an end would say that this was all. */
function fail(req: IncomingMessage, res: ServerResponse, node: ViewNode, error: Error): void {
  const code: ViewFault = error instanceof RvmError ? error.code : 'VIDEO_FAILED';
  if (code !== 'CANCELLED') node.failed?.(error);
  if (res.headersSent) res.destroy();
  else sendFault(req, res, code);
}
