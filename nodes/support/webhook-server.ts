import type { NodeAPI, NodeStatus } from 'node-red';
import type { Dispatcher, PageRoutes } from '../../lib/webhook/dispatcher';
import type { Middleware } from '../../lib/webhook/endpoint';
import { UnknownPaths } from '../../lib/webhook/unknown-paths';

/** The server that a webhook node listens on: Node-RED's own, or that of a listener node. */
export interface WebhookServer {
  dispatcher: Dispatcher;
  /** The pages of the server for people. */
  pages: PageRoutes;
  /** Port that distinguishes its endpoints from those of other servers: '' for Node-RED's own; undefined where none is set. */
  readonly port: string | undefined;
  /** Full path of a webhook node; undefined where the server accepts no paths (`httpNodeRoot: false`). */
  fullPath(path: string): string | undefined;
  /** True where another handler answers on a full path that a webhook must not take over. */
  isReserved(fullPath: string): boolean;
  /** URL of the server as seen from this machine; undefined until it listens. */
  loopbackOrigin(): string | undefined;
  middleware(): Middleware | undefined;
  /** Status for its webhook nodes while the server cannot receive; undefined where it can. */
  status(): NodeStatus | undefined;
  /** Why the server does not listen, in one sentence; absent for Node-RED's own, without which nothing runs. */
  fault?(): string | undefined;
  /** Calls `changed` when status or fault may have changed; returns a function that ends this. */
  watch(changed: () => void): () => void;
}

/** Full namespace: the first caller may be a listener, whose `RED` searches its own texts only. */
const TOLD = '@rvm/node-red-remote-monitoring/rvm-webhook-in:rvm-webhook-in.log.unknownPath';

/** Shared by all servers of this process. */
let paths: UnknownPaths | undefined;

/** Registry of messages posted to paths below `remote-monitoring/` that no *webhook in* has. */
export function unknownPaths(RED: NodeAPI): UnknownPaths {
  paths ??= new UnknownPaths({
    onFirst: ({ path, port }) => RED.log.warn(RED._(TOLD, { path, port: port ?? '' })),
    now: Date.now,
    monotonic: () => performance.now(),
  });
  return paths;
}
