import type { NodeAPI } from 'node-red';
import { UnknownPaths } from '../../lib/webhook/unknown-paths';

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
