import fs from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import { ensurePrivateFolder } from '../../lib/files';
import { Dispatcher, PageRoutes } from '../../lib/webhook/dispatcher';
import type { Middleware } from '../../lib/webhook/endpoint';
import { loopbackOrigin } from '../../lib/webhook/listener';
import { ignoreUpgrades } from '../../lib/webhook/listener-server';
import type { ListenerNode } from '../rvm-listener/listener-node';
import { configuredPaths } from '../support/configured-webhooks';
import { onFlowsState } from '../support/flows';
import { isOccupiedPath, PATHS_BEGIN, POSSIBLE_PATH } from '../support/rules';
import { ownFolder, textOf, unsetVariables } from '../support/settings';
import { showFromStart, status, type StatusName, unsetStatus } from '../support/status';
import { unknownPaths, type WebhookServer } from '../support/webhook-server';

/**
 * The webhook paths of the last run. Between the start of Node-RED and the building of its nodes no path is known yet; requests
 * on paths of the last run are held instead of being answered 404, so that no alarm is rejected.
 */
class RememberedPaths {
  #last = '';

  constructor(private readonly RED: NodeAPI) {}

  read(): string[] {
    try {
      const value: unknown = JSON.parse(fs.readFileSync(this.#file(), 'utf8'));
      return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
    } catch {
      // Absent at the first start; where unreadable, only the start window is not covered.
      return [];
    }
  }

  write(paths: readonly string[]): void {
    const text = `${JSON.stringify([...paths].sort())}\n`;
    if (text === this.#last) return;
    this.#last = text;
    try {
      const file = this.#file();
      ensurePrivateFolder(path.dirname(file));
      fs.writeFileSync(`${file}.new`, text, { mode: 0o600 });
      fs.renameSync(`${file}.new`, file);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      this.RED.log.warn(this.RED._('rvm-webhook-in.log.pathsNotWritten', { code }));
    }
  }

  #file(): string {
    return path.join(ownFolder(this.RED), 'webhook-paths.json');
  }
}

/**
 * First path segments of the editor and its API. A webhook there would lock users out of the editor in which they could remove
 * it.
 */
const OF_THE_EDITOR: ReadonlySet<string> = new Set(
  'auth comms context credentials debug diagnostics favicon.ico flow flows icons inject library locales nodes plugins projects red resources settings theme types vendor'.split(
    ' ',
  ),
);

interface AdminApp {
  _router?: { stack: AdminLayer[] };
  router?: { stack: AdminLayer[] };
}

interface AdminLayer {
  route?: { path: unknown };
}

/** True where the editor, its API or an admin route of another package answers on a full path. */
function isReservedPath(RED: NodeAPI, fullPath: string): boolean {
  const adminRoot = RED.settings.get('httpAdminRoot') as unknown;
  if (adminRoot === false) return false;
  const root = `/${typeof adminRoot === 'string' ? adminRoot : ''}/`.replace(/\/{2,}/g, '/');
  const inside = `${fullPath}/`;
  if (!inside.startsWith(root)) return false;
  const path = `/${inside.slice(root.length)}`.replace(/\/+$/, '');
  const [, first = ''] = path.split('/');
  return path === '' || OF_THE_EDITOR.has(first) || isAdminRoute(RED, path);
}

/** Compares the exact path: a catch-all route of another package must not disable all webhooks. */
function isAdminRoute(RED: NodeAPI, path: string): boolean {
  const app = RED.httpAdmin as AdminApp & NodeAPI['httpAdmin'] as AdminApp | undefined;
  const stack = (app?._router ?? app?.router)?.stack ?? [];
  return stack.some(({ route }) => route?.path === path);
}

type Next = (error?: unknown) => void;
type Handler = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

interface Layer {
  name?: string;
  handle: unknown;
}

/** The parts of an Express app used here; `_router` in Express 4, `router` in Express 5. */
interface ExpressApp {
  parent?: ExpressApp;
  _router?: { stack: Layer[] };
  router?: { stack: Layer[] };
  use(handler: Handler): unknown;
  path(): string;
}

/** Lives as long as the process: a redeploy changes its map of paths, but no Express route. */
let server: WebhookServer | undefined;

/** Node-RED's own server. The handler is installed when the type registers, before any flow runs. */
export function nodeRedServer(RED: NodeAPI): WebhookServer {
  if (server !== undefined) {
    capture(RED, server);
    return server;
  }
  const remembered = new RememberedPaths(RED);
  const begin = pathOnServer(RED, PATHS_BEGIN);
  const dispatcher = new Dispatcher({
    // Reserved paths are left out: at a start without flows, such as safe mode, remembered paths stay held,
    // and the editor must be reachable then.
    rememberedPaths: remembered.read().filter((path) => !isReservedPath(RED, path)),
    configured: () => {
      const { paths, hasUnknown } = configuredPaths(RED);
      const full = paths.map((path) => pathOnServer(RED, path)).filter((path) => path !== undefined);
      return { paths: full.filter((path) => !isReservedPath(RED, path)), hasUnknown };
    },
    log: (line) => RED.log.warn(line),
    unknownPaths: { begin: begin ?? PATHS_BEGIN, paths: unknownPaths(RED) },
    ...(begin !== undefined && { probesBelow: begin }),
  });
  onFlowsState(RED, 'started', () => {
    dispatcher.flowsStarted();
    remembered.write(dispatcher.paths());
  });
  onFlowsState(RED, 'stopping', () => dispatcher.flowsStopping());
  if (RED.settings.get('httpNodeAuth') !== undefined) {
    RED.log.info(RED._('rvm-webhook-in.log.httpNodeAuth'));
  }
  const pages = new PageRoutes();
  capture(RED, { dispatcher, pages });
  ignoreUpgrades(RED.server, (target) => dispatcher.owns(target));
  dispatcher.pace(RED.server);
  server = {
    dispatcher,
    pages,
    port: '',
    fullPath: (path) => pathOnServer(RED, path),
    loopbackOrigin: () => loopbackOrigin(schemeOf(RED), RED.server.address()),
    middleware: () => middleware(RED),
    isReserved: (path) => isReservedPath(RED, path),
    status: () => undefined,
    watch: () => () => undefined,
  };
  return server;
}

const capturing = new WeakSet<ExpressApp>();

/**
 * Installs the handler in front of all body parsers. Node-RED's editor parses every JSON body under its root, `/` by default,
 * before a route of a node runs; a proof over the raw bytes would be impossible then. It runs after Express has prepared `req`
 * and `res`, as `httpNodeMiddleware` expects them.
 */
function capture(RED: NodeAPI, { dispatcher, pages }: Pick<WebhookServer, 'dispatcher' | 'pages'>): void {
  const app = rootApp(RED);
  if (app === undefined || capturing.has(app)) return;
  capturing.add(app);

  const rvmWebhook: Handler = (req, res, next) => {
    if (!dispatcher.handle(req, res) && !pages.handle(req, res)) next();
  };
  app.use(rvmWebhook);
  const stack = (app._router ?? app.router)?.stack ?? [];
  const layers = stack.splice(
    stack.findIndex((layer) => layer.handle === rvmWebhook),
    1,
  );
  const prepared = stack.findIndex((layer) => layer.name === 'expressInit') + 1;
  stack.splice(prepared, 0, ...layers);
}

function rootApp(RED: NodeAPI): ExpressApp | undefined {
  if (typeof RED.httpNode !== 'function') return undefined;
  let app = RED.httpNode as ExpressApp & NodeAPI['httpNode'] as ExpressApp;
  while (app.parent !== undefined) app = app.parent;
  return app;
}

function pathOnServer(RED: NodeAPI, path: string): string | undefined {
  // red.js leaves an empty Express app where httpNodeRoot is false, so the setting decides.
  if (RED.settings.get('httpNodeRoot') === false || typeof RED.httpNode !== 'function') return undefined;
  return `${RED.httpNode.path()}/${path}`.replace(/\/{2,}/g, '/');
}

function schemeOf(RED: NodeAPI): 'http' | 'https' {
  return RED.settings.get('https') === undefined ? 'http' : 'https';
}

/** `httpNodeMiddleware` of settings.js: one function, or several run in order. */
function middleware(RED: NodeAPI): Middleware | undefined {
  const setting = RED.settings.get('httpNodeMiddleware') as Handler | Handler[] | undefined;
  const handlers = (Array.isArray(setting) ? setting : [setting]).filter(
    (entry) => typeof entry === 'function',
  );
  if (handlers.length === 0) return undefined;
  return (req, res, next) => {
    const run = (index: number): void => {
      const handler = handlers[index];
      if (handler === undefined) return next();
      const step: Next = (error) => (error === undefined || error === null ? run(index + 1) : next(error));
      // A handler may throw after an await, or reject: either would end Node-RED if unhandled.
      void (async () => handler(req, res, step))().catch((error: unknown) => next(error ?? true));
    };
    run(0);
  };
}

/** The path on which requests of a *webhook in* arrive, or why there is none. */
type PathReading = { path: string } | { fault: StatusName };

/**
 * The full path on a server for the path entered in the node. Undefined where that contains a variable that is not set: the
 * status names it. An unset variable in another property frees no path: requests are cut there, and the service sends them
 * again.
 */
export function fullPath(server: WebhookServer, entered: string): PathReading | undefined {
  if (unsetVariables({ path: entered }) !== undefined) return undefined;
  const path = server.fullPath(entered);
  if (path === undefined) return { fault: 'noHttpNodes' };
  if (entered.replace(/\//g, '') === '') return { fault: 'notConfigured' };
  if (!POSSIBLE_PATH.test(entered)) return { fault: 'pathImpossible' };
  if (isOccupiedPath(entered)) return { fault: 'pathKept' };
  return server.isReserved(path) ? { fault: 'pathReserved' } : { path };
}

/**
 * The server of a webhook node: that of its listener node, or Node-RED's own where it names none. Undefined, with an error on
 * the node, where the listener is missing: its alarms must not arrive on another server than the chosen one.
 */
export function chosenServer(RED: NodeAPI, node: Node, config: NodeDef): WebhookServer | undefined {
  const id = textOf({ ...config }, 'listener');
  if (id === '') return nodeRedServer(RED);
  const listener = RED.nodes.getNode(id) as ListenerNode | null | undefined;
  if (listener?.server !== undefined) return listener.server;
  const unset = unsetVariables({ id });
  node.error(RED._('shared.errors.listenerMissing'));
  showFromStart(RED, node, () =>
    unset === undefined ? status(RED, 'notConfigured') : unsetStatus(RED, unset),
  );
  return undefined;
}

/**
 * For a Node.js that is too old to receive alarms: after a cut connection the service sends again for a day, after Node-RED's
 * 404 it would not.
 */
export function dropAlarms(RED: NodeAPI): void {
  if (typeof RED.httpNode !== 'function') return;
  RED.httpNode.use((req, _res, next) => {
    if (configuredPaths(RED).paths.some((path) => bare(path) === bare(req.path))) req.socket.destroy();
    else next();
  });
}

function bare(path: string): string {
  return path.replace(/^\/+|\/$/g, '').toLowerCase();
}
