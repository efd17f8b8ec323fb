import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { ConnectionSettings } from '../../lib/inbox/postgres/connection-settings';
import type { ConnectionReport } from '../../lib/inbox/postgres/connection-report';
import { isRecord, type JsonRecord } from '../../lib/json/json';
import { TO_DEPLOY, writeRoute } from '../support/admin-routes';
import { draftVariableError, unsetVariableError, unsetVariables } from '../support/settings';
import { withoutKey } from '../support/tls-node';
import type { InboxNode } from './inbox-node';
import { connectionOf, sharedSettingsOf } from './shared-settings';

type TestModule = typeof import('../../lib/inbox/postgres/test-connection');

/**
 * What the dialog asks of a connection to PostgreSQL: of a deployed inbox by its id, for its password goes nowhere else than it is
 * deployed for; of any other with all that was typed.
 */
export function addConnectionTest(RED: NodeAPI): void {
  writeRoute(
    RED,
    'inbox-test',
    (asked) => tested(isDeployed(asked) ? deployedConnection(RED, asked) : draftConnection(RED, asked)),
    (asked) => (isDeployed(asked) ? undefined : TO_DEPLOY),
  );
}

function tested(settings: ConnectionSettings): Promise<ConnectionReport> {
  const { testConnection } = require('../../lib/inbox/postgres/test-connection') as TestModule;
  return testConnection(settings);
}

function isDeployed({ inbox }: JsonRecord): boolean {
  return typeof inbox === 'string';
}

/** @throws RvmError CONFIG_MISSING */
function deployedConnection(RED: NodeAPI, { inbox }: JsonRecord): ConnectionSettings {
  const node = RED.nodes.getNode(String(inbox)) as Partial<InboxNode> | null | undefined;
  if (node?.shared === undefined)
    throw new RvmError('CONFIG_MISSING', 'This inbox is not deployed yet: deploy the flow first.');
  if (node.unsetVariables !== undefined) throw unsetVariableError(node.unsetVariables);
  return connectionOf(RED, node.shared);
}

/** Nothing that is stored goes to the address of a draft. @throws RvmError CONFIG_MISSING */
function draftConnection(RED: NodeAPI, { draft }: JsonRecord): ConnectionSettings {
  const typed = isRecord(draft) ? draft : {};
  const unset = unsetVariables(typed);
  if (unset !== undefined) throw draftVariableError(unset);
  return connectionOf(RED, sharedSettingsOf(typed, typed), withoutKey);
}
