import type { NodeAPI, NodeStatus } from 'node-red';
import type { Dispatcher, PageRoutes } from '../../lib/webhook/dispatcher';
import type { Middleware } from '../../lib/webhook/endpoint';
import { UnknownPaths } from '../../lib/webhook/unknown-paths';

/** The server that a webhook node listens on: Node-RED's own, or that of a listener node. */
export interface WebhookServer {
  dispatcher: Dispatcher;
  /** What it shows to people. */
  pages: PageRoutes;
  /** By which its endpoints are told from those of other servers: '' for Node-RED's own; undefined where it is set to none. */
  readonly port: string | undefined;
  /** Full path of a webhook node; undefined where the server takes no paths (`httpNodeRoot: false`). */
  fullPath(path: string): string | undefined;
  /** True where something else answers on a full path that must not be taken away. */
  isReserved(fullPath: string): boolean;
  /** Address of the server as seen from this machine, once it listens. */
  loopbackOrigin(): string | undefined;
  middleware(): Middleware | undefined;
  /** What its webhook nodes show while nothing can come in by it; undefined where all is well. */
  status(): NodeStatus | undefined;
  /** Why it does not listen, in one sentence; absent for Node-RED's own, without which nothing runs. */
  fault?(): string | undefined;
  /** Calls back when that may have changed; returns the way to end it. */
  watch(changed: () => void): () => void;
}

/** With its namespace: the first to ask may be a listener, whose `RED` looks among its own texts. */
const TOLD = '@rvm/node-red-remote-monitoring/rvm-webhook-in:rvm-webhook-in.log.unknownPath';

/** Of all servers of this process. */
let paths: UnknownPaths | undefined;

/** What is posted to paths below `remote-monitoring/` that no *webhook in* has. */
export function unknownPaths(RED: NodeAPI): UnknownPaths {
  paths ??= new UnknownPaths({
    onFirst: ({ path, port }) => RED.log.warn(RED._(TOLD, { path, port: port ?? '' })),
    now: Date.now,
    steady: () => performance.now(),
  });
  return paths;
}
