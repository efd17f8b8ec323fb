import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NodeAPI } from 'node-red';
import type { Middleware } from '../../../lib/webhook/endpoint';
import { loopbackOrigin } from '../../../lib/webhook/listener';
import { Dispatcher, Pages } from '../../../lib/webhook/dispatcher';
import { ignoreUpgrades } from '../../../lib/webhook/listener-server';
import { configuredPaths } from '../../support/configured-webhooks';
import { onFlows } from '../../support/flows';
import { PATHS_BEGIN } from '../../support/rules';
import { unknownPaths, type WebhookServer } from '../../support/webhook-server';
import { RememberedPaths } from './remembered-paths';
import { isReservedPath } from './reserved-path';

type Next = (error?: unknown) => void;
type Handler = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

interface Layer {
  name?: string;
  handle: unknown;
}

/** The parts of an Express app that are touched here; `_router` in Express 4, `router` in Express 5. */
interface ExpressApp {
  parent?: ExpressApp;
  _router?: { stack: Layer[] };
  router?: { stack: Layer[] };
  use(handler: Handler): unknown;
  path(): string;
}

/** As long as the process lives: a redeploy changes its map of paths and no Express route. */
let server: WebhookServer | undefined;

/** Node-RED's own server; the entrance is put in place when the type registers: before any flow runs. */
export function nodeRedServer(RED: NodeAPI): WebhookServer {
  if (server !== undefined) {
    capture(RED, server);
    return server;
  }
  const remembered = new RememberedPaths(RED);
  const begin = fullPath(RED, PATHS_BEGIN);
  const dispatcher = new Dispatcher({
    // At a start without flows, in safe mode for one, they stay: the editor must be there then above all.
    rememberedPaths: remembered.read().filter((path) => !isReservedPath(RED, path)),
    configured: () => {
      const { paths, hasUnknown } = configuredPaths(RED);
      const full = paths.map((path) => fullPath(RED, path)).filter((path) => path !== undefined);
      return { paths: full.filter((path) => !isReservedPath(RED, path)), hasUnknown };
    },
    log: (line) => RED.log.warn(line),
    unknownPaths: { begin: begin ?? PATHS_BEGIN, paths: unknownPaths(RED) },
    ...(begin !== undefined && { probesBelow: begin }),
  });
  onFlows(RED, 'started', () => {
    dispatcher.flowsStarted();
    remembered.write(dispatcher.paths());
  });
  onFlows(RED, 'stopping', () => dispatcher.flowsStopping());
  if (RED.settings.get('httpNodeAuth') !== undefined) {
    RED.log.info(RED._('rvm-webhook-in.log.httpNodeAuth'));
  }
  const pages = new Pages();
  capture(RED, { dispatcher, pages });
  ignoreUpgrades(RED.server, (target) => dispatcher.owns(target));
  dispatcher.pace(RED.server);
  server = {
    dispatcher,
    pages,
    port: '',
    fullPath: (path) => fullPath(RED, path),
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
 * Puts the dispatcher in front of everything that reads bodies. Node-RED's editor parses every JSON body under its
 * root, which is `/` by default, before a route of a node runs; a proof over raw bytes is then impossible.
 * Behind Express's own preparation of `req` and `res`, so that `httpNodeMiddleware` finds them as it expects.
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

function fullPath(RED: NodeAPI, path: string): string | undefined {
  // red.js leaves an empty Express app where httpNodeRoot is false, so the setting decides.
  if (RED.settings.get('httpNodeRoot') === false || typeof RED.httpNode !== 'function') return undefined;
  return `${RED.httpNode.path()}/${path}`.replace(/\/{2,}/g, '/');
}

function schemeOf(RED: NodeAPI): 'http' | 'https' {
  return RED.settings.get('https') === undefined ? 'http' : 'https';
}

/** `httpNodeMiddleware` of settings.js: one function or several, run in turn. */
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
      // A handler may throw after a pause, or reject: unhandled, either would end Node-RED.
      void (async () => handler(req, res, step))().catch((error: unknown) => next(error ?? true));
    };
    run(0);
  };
}
