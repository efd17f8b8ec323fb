import type { NodeAPI, NodeDef } from 'node-red';
import { DEFAULT_SETTINGS, LEAST_KEY_DAYS, type InboxSettings } from '../../lib/inbox/inbox-settings';
import { registerNode } from '../support/register';
import { numberOf, textOf, unsetVariables, type Properties } from '../support/settings';
import { isUsableFolder } from '../support/folder-rule';
import type { InboxNode } from './inbox-node';
import { claimInbox, type InboxPlace } from './inboxes';

function settingsOf(properties: Properties): InboxPlace & InboxSettings {
  return {
    folder: textOf(properties, 'folder').trim(),
    spillFolder: textOf(properties, 'spillFolder').trim(),
    keyDays: Math.max(LEAST_KEY_DAYS, numberOf(properties, 'keyDays', DEFAULT_SETTINGS.keyDays)),
    bodyDays: numberOf(properties, 'bodyDays', DEFAULT_SETTINGS.bodyDays),
  };
}

function build(RED: NodeAPI, node: InboxNode, config: NodeDef): void {
  node.unsetVariables = unsetVariables(config);
  const own = settingsOf({ ...config });
  const wrong = [own.folder, own.spillFolder].find((folder) => !isUsableFolder(folder));
  if (node.unsetVariables === undefined && wrong !== undefined)
    node.error(RED._('rvm-inbox.errors.noFolder', { folder: wrong }));
  const settings = node.unsetVariables === undefined && wrong === undefined ? own : undefined;
  const claim = settings && claimInbox(RED, settings, settings);
  const isOverruled = (): boolean => claim?.isOverruled() ?? false;
  node.usableSettings = () => settings;
  node.isRefused = () => wrong !== undefined || isOverruled();
  if (isOverruled()) node.error(RED._('rvm-inbox.errors.differs'));
  node.on('close', () => claim?.release());
}

export = (RED: NodeAPI): void => {
  registerNode<InboxNode, NodeDef>(RED, 'rvm-inbox', (node, config) => build(RED, node, config));
};
