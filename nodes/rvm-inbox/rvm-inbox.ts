import type { NodeAPI, NodeDef } from 'node-red';
import { DEFAULT_SETTINGS, LEAST_KEY_DAYS, type InboxSettings } from '../../lib/inbox/inbox-settings';
import { nodeIsNewEnough, registerNode } from '../support/register';
import { numberOf, textOf, type Properties } from '../support/settings';
import { addConnectionTest } from './connection-test';
import type { InboxNode } from './inbox-node';
import { engineOf, readPlace } from './inbox-place';
import { claimInbox } from './inboxes';
import { CREDENTIALS, sharedSettingsOf } from './shared-settings';

function settingsOf(properties: Properties): InboxSettings {
  return {
    // Nothing is spilled beside one that is shared.
    spillFolder: engineOf(properties) === 'sqlite' ? textOf(properties, 'spillFolder').trim() : '',
    keyDays: Math.max(LEAST_KEY_DAYS, numberOf(properties, 'keyDays', DEFAULT_SETTINGS.keyDays)),
    bodyDays: numberOf(properties, 'bodyDays', DEFAULT_SETTINGS.bodyDays),
  };
}

function build(RED: NodeAPI, node: InboxNode, config: NodeDef): void {
  const properties: Properties = { ...config };
  const credentials: Properties = { ...node.credentials };
  const { place, unset, fault } = readPlace(RED, {
    id: node.id,
    name: node.name ?? '',
    properties,
    credentials,
  });
  node.place = place;
  node.unsetVariables = unset;
  node.shared = sharedSettingsOf(properties, credentials);
  const claim = place && claimInbox(RED, place, settingsOf(properties));
  const isOverruled = (): boolean => claim?.isOverruled() ?? false;
  node.isRefused = () => fault !== undefined || isOverruled();
  if (fault !== undefined) node.error(fault);
  if (isOverruled())
    node.error(RED._(`rvm-inbox.errors.${place?.folder === undefined ? 'differsShared' : 'differs'}`));
  node.on('close', () => claim?.release());
}

export = (RED: NodeAPI): void => {
  if (nodeIsNewEnough()) addConnectionTest(RED);
  registerNode<InboxNode, NodeDef>(RED, 'rvm-inbox', (node, config) => build(RED, node, config), CREDENTIALS);
};
