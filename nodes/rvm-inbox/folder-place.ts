import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { INBOX_FILE } from '../../lib/inbox/inbox-settings';
import type { InboxPlace } from '../../lib/inbox/inboxes';
import { makeFolder } from '../../lib/files';
import { ownFolder } from '../support/settings';
import { logNews } from './inbox-log';

type InboxModule = typeof import('../../lib/inbox/durable-inbox');

/**
 * The place of an inbox that is a file on this machine.
 * @param setting '' = `remote-monitoring` in the user directory
 */
export function folderPlace(RED: NodeAPI, setting = ''): InboxPlace {
  const folder = realFolder(RED, setting);
  return {
    key: folder,
    store: folder,
    title: folder,
    folder,
    open: (keeping) => {
      // Loaded here and not above: registering types must not start a thread.
      const { DurableInbox } = require('../../lib/inbox/durable-inbox') as InboxModule;
      const file = path.join(folder, INBOX_FILE);
      const lastSequence = besideFlows(RED, folder);
      return new DurableInbox({ file, lastSequence, ...keeping, log: (news) => logNews(RED, folder, news) });
    },
  };
}

/** Where the last sequence of an inbox is remembered: one that is put back does not take it along. */
function besideFlows(RED: NodeAPI, folder: string): string {
  const name = createHash('sha256').update(shownFolder(RED, folder)).digest('hex').slice(0, 12);
  return path.join(RED.settings.userDir ?? process.cwd(), `remote-monitoring-${name}.last`);
}

/** A folder for people to tell it from another: relative to the user directory, where it lies there. */
export function shownFolder(RED: NodeAPI, folder: string): string {
  const relative = path.relative(realFolder(RED, '.'), folder);
  return relative.startsWith('..') || path.isAbsolute(relative) ? folder : relative;
}

/** One name for one folder, whatever links lead to it. */
function realFolder(RED: NodeAPI, setting: string): string {
  const folder =
    setting === '' ? ownFolder(RED) : path.resolve(RED.settings.userDir ?? process.cwd(), setting);
  try {
    makeFolder(folder);
    return fs.realpathSync(folder);
  } catch {
    // The store will say what is wrong with it.
    return folder;
  }
}
