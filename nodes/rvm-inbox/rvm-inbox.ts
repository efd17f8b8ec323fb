import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { DEFAULT_SETTINGS, type InboxSettings, LEAST_KEY_DAYS } from '../../lib/inbox/model';
import type { ConnectionReport, ConnectionSettings } from '../../lib/inbox/postgres/connection-settings';
import { isRecord, type JsonRecord } from '../../lib/json/json';
import { TO_DEPLOY, writeRoute } from '../support/admin-routes';
import { type NodeConfig, nodeIsNewEnough, registerNode } from '../support/register';
import {
  draftVariableError,
  numberOf,
  type Properties,
  textOf,
  unsetVariableError,
  unsetVariables,
} from '../support/settings';
import { withoutKey } from '../support/tls-node';
import { connectionOf, engineOf, readPlace, sharedSettingsOf } from './inbox-place';
import { claimInbox, type InboxNode } from './inboxes';

function settingsOf(properties: Properties): InboxSettings {
  return {
    // A shared inbox has no spill folder.
    spillFolder: engineOf(properties) === 'sqlite' ? textOf(properties, 'spillFolder').trim() : '',
    keyDays: Math.max(LEAST_KEY_DAYS, numberOf(properties, 'keyDays', DEFAULT_SETTINGS.keyDays)),
    bodyDays: numberOf(properties, 'bodyDays', DEFAULT_SETTINGS.bodyDays),
  };
}

function build(RED: NodeAPI, node: InboxNode, config: NodeConfig): void {
  const { id, name = '' } = node;
  const credentials: Properties = { ...node.credentials };
  const { place, unset, fault } = readPlace(RED, { id, name, properties: config, credentials });
  node.place = place;
  node.unsetVariables = unset;
  node.shared = sharedSettingsOf(config, credentials);
  const claim = place && claimInbox(RED, place, settingsOf(config));
  const isOverruled = (): boolean => claim?.isOverruled() ?? false;
  node.isRefused = () => fault !== undefined || isOverruled();
  if (fault !== undefined) node.error(fault);
  if (isOverruled())
    node.error(RED._(`rvm-inbox.errors.${place?.folder === undefined ? 'differsShared' : 'differs'}`));
  node.on('close', () => claim?.release());
}

export = (RED: NodeAPI): void => {
  if (nodeIsNewEnough()) addConnectionTest(RED);
  registerNode(RED, 'rvm-inbox', build, { credentials: { connection: { type: 'password' } } });
};

type TestModule = typeof import('../../lib/inbox/postgres/connect');

/**
 * Connection test for the dialog. A deployed inbox is named by its id, because its password may go only where it is deployed
 * for; a draft carries everything typed.
 */
function addConnectionTest(RED: NodeAPI): void {
  writeRoute(
    RED,
    'inbox-test',
    (input) => tested(isDeployed(input) ? deployedConnection(RED, input) : draftConnection(RED, input)),
    (input) => (isDeployed(input) ? undefined : TO_DEPLOY),
  );
}

function tested(settings: ConnectionSettings): Promise<ConnectionReport> {
  const { testConnection } = require('../../lib/inbox/postgres/connect') as TestModule;
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

/**
 * Nothing stored may go to the address of a draft.
 * @throws RvmError CONFIG_MISSING
 */
function draftConnection(RED: NodeAPI, { draft }: JsonRecord): ConnectionSettings {
  const typed = isRecord(draft) ? draft : {};
  const unset = unsetVariables(typed);
  if (unset !== undefined) throw draftVariableError(unset);
  return connectionOf(RED, sharedSettingsOf(typed, typed), withoutKey);
}
