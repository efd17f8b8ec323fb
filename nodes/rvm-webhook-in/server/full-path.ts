import { isKeptPath, POSSIBLE_PATH } from '../../support/rules';
import { unsetVariables } from '../../support/settings';
import type { StatusName } from '../../support/status';
import type { WebhookServer } from '../../support/webhook-server';

/** Where the requests of a *webhook in* come, or why none can. */
export type PathReading = { path: string } | { fault: StatusName };

/**
 * The full path on a server of what is entered in the node. Undefined where a variable stands for it that is not set: the status
 * names that. One that is not set elsewhere takes no path away, for what comes is then cut, and sent again.
 */
export function fullPath(server: WebhookServer, entered: string): PathReading | undefined {
  if (unsetVariables({ path: entered }) !== undefined) return undefined;
  const path = server.fullPath(entered);
  if (path === undefined) return { fault: 'noHttpNodes' };
  if (entered.replace(/\//g, '') === '') return { fault: 'notConfigured' };
  if (!POSSIBLE_PATH.test(entered)) return { fault: 'pathImpossible' };
  if (isKeptPath(entered)) return { fault: 'pathKept' };
  return server.isReserved(path) ? { fault: 'pathReserved' } : { path };
}
