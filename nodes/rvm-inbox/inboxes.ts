import type { NodeAPI } from 'node-red';
import type { Inbox } from '../../lib/inbox/inbox';
import type { InboxSettings } from '../../lib/inbox/inbox-settings';
import { Inboxes, type InboxClaim, type OpenInbox } from '../../lib/inbox/inboxes';
import { onFlows } from '../support/flows';
import { folderPlace, shownFolder } from './folder-place';
import { logForgotten } from './inbox-log';

/** All inboxes of this process. */
let inboxes: Inboxes | undefined;

/**
 * The inbox of a place, opened at its first claim, until it is released.
 * @param place by default, that of those that name none
 * @param settings lays down how it is kept; of several nodes with one place that do, the first counts
 */
export function claimInbox(RED: NodeAPI, place = folderPlace(RED), settings?: InboxSettings): InboxClaim {
  return inboxesOf(RED).claim(place, settings);
}

/** Those that are open. */
export function openInboxes(): readonly OpenInbox[] {
  return inboxes?.all() ?? [];
}

export function allInboxes(): Inbox[] {
  return openInboxes().map(({ inbox }) => inbox);
}

/** By which people tell an inbox from another. */
export function shownTitle(RED: NodeAPI, { place }: OpenInbox): string {
  return place.folder === undefined ? place.title : shownFolder(RED, place.folder);
}

/** The same of an inbox that is open. */
export function titleOf(RED: NodeAPI, inbox: Inbox): string {
  const open = openInboxes().find((each) => each.inbox === inbox);
  return open === undefined ? '' : shownTitle(RED, open);
}

/** The first of those that are open, the same one at each start: one that several instances share is it for all of them. */
export function firstInbox(): Inbox | undefined {
  const rank = ({ place }: OpenInbox): string => `${place.folder === undefined ? 0 : 1}${place.title}`;
  return [...openInboxes()].sort((one, other) => rank(one).localeCompare(rank(other)))[0]?.inbox;
}

function inboxesOf(RED: NodeAPI): Inboxes {
  if (inboxes !== undefined) return inboxes;
  const all = new Inboxes({
    onLeftBehind: (place, count) => logForgotten(RED, 'leftBehind', place, count),
    onAbandoned: (place, count) => logForgotten(RED, 'abandoned', place, count),
  });
  onFlows(RED, 'started', () => all.flowsStarted());
  inboxes = all;
  return all;
}
