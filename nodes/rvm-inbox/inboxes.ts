import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import type { Inbox } from '../../lib/inbox/inbox';
import type { InboxSettings } from '../../lib/inbox/inbox-settings';
import { Inboxes, type InboxClaim, type OpenInbox } from '../../lib/inbox/inboxes';
import { makeFolder } from '../../lib/make-folder';
import { onFlows } from '../support/flow-run';
import { ownFolder } from '../support/own-folder';
import { logForgotten, logNews } from './inbox-log';

type InboxModule = typeof import('../../lib/inbox/durable-inbox');

/** Where an inbox is. */
export interface InboxPlace {
  /** '' = `remote-monitoring` in the user directory. */
  folder: string;
}

/** The place of those that name none. */
export const DEFAULTS: InboxPlace = { folder: '' };

/** All inboxes of this process. */
let inboxes: Inboxes | undefined;

/**
 * The inbox of a folder, opened at its first claim, until it is released.
 * @param settings lays down how it is kept; of several nodes with one folder that do, the first counts
 */
export function claimInbox(RED: NodeAPI, { folder }: InboxPlace, settings?: InboxSettings): InboxClaim {
  return inboxesOf(RED).claim(realFolder(RED, folder), settings);
}

/** Those that are open. */
export function openInboxes(): readonly OpenInbox[] {
  return inboxes?.all() ?? [];
}

export function allInboxes(): Inbox[] {
  return openInboxes().map(({ inbox }) => inbox);
}

/** The folder of an inbox for people to tell it from another: relative to the user directory, where it lies there. */
export function shownFolder(RED: NodeAPI, { folder }: OpenInbox): string {
  const relative = path.relative(realFolder(RED, '.'), folder);
  return relative.startsWith('..') || path.isAbsolute(relative) ? folder : relative;
}

function inboxesOf(RED: NodeAPI): Inboxes {
  if (inboxes !== undefined) return inboxes;
  const all = new Inboxes({
    open: (folder, keeping) => {
      // Loaded here and not above: registering types must not start a thread.
      const { DurableInbox } = require('../../lib/inbox/durable-inbox') as InboxModule;
      const file = path.join(folder, 'inbox.sqlite');
      return new DurableInbox({ file, ...keeping, log: (news) => logNews(RED, folder, news) });
    },
    onLeftBehind: (folder, count) => logForgotten(RED, 'leftBehind', { folder, count }),
    onAbandoned: (folder, count) => logForgotten(RED, 'abandoned', { folder, count }),
  });
  onFlows(RED, 'started', () => all.flowsStarted());
  inboxes = all;
  return all;
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
