import type { NodeAPI, NodeDef } from 'node-red';
import { registerNode } from '../support/register';
import { firstUnsetVariable, numberOf, textOf, type Properties } from '../support/settings';
import { isUsableFolder } from './folder-rule';
import type { InboxNode } from './inbox-node';
import { claimInbox, DEFAULTS, isOverruled, leaveInbox, type InboxSettings } from './inboxes';

/** Ids must be known longer than resends last. */
const LEAST_KEY_DAYS = 2;

function settingsOf(properties: Properties): InboxSettings {
  return {
    folder: textOf(properties, 'folder').trim(),
    spillFolder: textOf(properties, 'spillFolder').trim(),
    keyDays: Math.max(LEAST_KEY_DAYS, numberOf(properties, 'keyDays', DEFAULTS.keyDays)),
    bodyDays: numberOf(properties, 'bodyDays', DEFAULTS.bodyDays),
  };
}

function build(RED: NodeAPI, node: InboxNode, config: NodeDef): void {
  node.unsetVariable = firstUnsetVariable(config);
  const own = settingsOf({ ...config });
  const wrong = [own.folder, own.spillFolder].find((folder) => !isUsableFolder(folder));
  if (node.unsetVariable === undefined && wrong !== undefined)
    node.error(RED._('rvm-inbox.errors.noFolder', { folder: wrong }));
  const settings = node.unsetVariable === undefined && wrong === undefined ? own : undefined;
  node.usableSettings = () => settings;
  if (settings !== undefined) claimInbox(RED, settings, node);
  node.isRefused = () => wrong !== undefined || isOverruled(node);
  if (isOverruled(node)) node.error(RED._('rvm-inbox.errors.differs'));
  node.on('close', () => leaveInbox(node));
}

export = (RED: NodeAPI): void => {
  registerNode<InboxNode, NodeDef>(RED, 'rvm-inbox', (node, config) => build(RED, node, config));
};
