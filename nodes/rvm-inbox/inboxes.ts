import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { actWhereKnown } from '../../lib/inbox/act-where-known';
import type { Inbox } from '../../lib/inbox/inbox';
import type { InboxSettings } from '../../lib/inbox/inbox-settings';
import { type InboxClaim, Inboxes, type InboxPlace, type OpenInbox } from '../../lib/inbox/inboxes';
import { isRecord } from '../../lib/json/json';
import { onFlowsState } from '../support/flows';
import { type Properties, textOf, type UnsetVariables } from '../support/settings';
import { logForgotten } from './inbox-log';
import { folderPlace, type SharedSettings, shownFolder } from './inbox-place';

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
  onFlowsState(RED, 'started', () => all.flowsStarted());
  inboxes = all;
  return all;
}

/**
 * The inbox node that a node names; undefined where it names none. The default one takes the place of one that is gone, and the node
 * says so: better there than nowhere.
 * @param gone key of the text that says so
 */
export function chosenInbox(
  RED: NodeAPI,
  node: Node,
  properties: Properties,
  gone: string,
): InboxNode | undefined {
  const id = textOf(properties, 'inbox');
  if (id === '') return undefined;
  const inbox = RED.nodes.getNode(id) as InboxNode | null | undefined;
  if (!inbox) node.error(RED._(gone));
  return inbox ?? undefined;
}

/** The config node, as webhook nodes see it. */
export interface InboxNode extends Node {
  /** None while a variable is not set, or a folder cannot be used: the default one takes its place then. */
  place: InboxPlace | undefined;
  /** How its database is reached, where it is in one. Holds a password: not for logs. */
  shared: SharedSettings;
  /** The variables that it lacks. */
  unsetVariables: UnsetVariables | undefined;
  /** True where its settings do not count: another inbox node has the same store, or they cannot be used. */
  isRefused(): boolean;
}

/** Of a lease: late timers of a busy machine do not let it end. */
const PART = 1 / 4;
/** Milliseconds between two looks where no lease is known, or a long one: a deploy may make it shorter. */
const SELDOM = 5000;

/** Of the event that a message belongs to; '' where there is none. */
export function deliveryIdOf({ webhook }: NodeMessage & { webhook?: unknown }): string {
  return textOf(isRecord(webhook) ? webhook : {}, 'deliveryId');
}

/**
 * Extends the lease of the event that a message belongs to while a node works on it, so that the event does not come again
 * meanwhile. @returns the way to end that
 */
export function extendLease(inboxes: () => readonly Inbox[], msg: NodeMessage): () => void {
  const deliveryId = deliveryIdOf(msg);
  if (deliveryId === '') return () => undefined;
  let timer: NodeJS.Timeout | undefined;
  const hold = (): void => {
    const leases = inboxes().map((inbox) => inbox.leaseOf(deliveryId) ?? Infinity);
    const lease = Math.min(...leases);
    if (lease < Infinity) extend(inboxes(), deliveryId);
    timer = setTimeout(hold, Math.min(lease * PART, SELDOM));
  };
  hold();
  return () => clearTimeout(timer);
}

/** An event that was settled meanwhile has no lease: nothing is lost. */
function extend(inboxes: readonly Inbox[], deliveryId: string): void {
  const extending = actWhereKnown(inboxes, (inbox) => inbox.settle(deliveryId, { action: 'extend' }));
  extending.catch(() => undefined);
}
