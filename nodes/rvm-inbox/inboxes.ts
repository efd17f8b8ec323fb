import type { Node, NodeAPI, NodeMessage } from 'node-red';
import {
  settleInAny,
  type InboxClaim,
  Inboxes,
  type InboxLocation,
  type OpenInbox,
} from '../../lib/inbox/inboxes';
import type { Inbox, InboxSettings } from '../../lib/inbox/model';
import { isRecord } from '../../lib/json/json';
import { onFlowsState } from '../support/flows';
import { type Properties, textOf, type UnsetVariables } from '../support/settings';
import { logForgotten } from './inbox-log';
import { folderPlace, type SharedSettings, shownFolder } from './inbox-place';

/** All inboxes of this process. */
let inboxes: Inboxes | undefined;

/**
 * Claims the inbox of a place. The first claim opens it, the last release closes it.
 * @param place by default that of nodes that name no inbox
 * @param settings how messages are stored; where several nodes with one place pass settings, the first counts
 */
export function claimInbox(RED: NodeAPI, place = folderPlace(RED), settings?: InboxSettings): InboxClaim {
  return inboxesOf(RED).claim(place, settings);
}

export function openInboxes(): readonly OpenInbox[] {
  return inboxes?.all() ?? [];
}

export function allInboxes(): Inbox[] {
  return openInboxes().map(({ inbox }) => inbox);
}

/** Title of an inbox, as shown to users. */
export function shownTitle(RED: NodeAPI, { place }: OpenInbox): string {
  return place.folder === undefined ? place.title : shownFolder(RED, place.folder);
}

/** The same for an open inbox; '' where it is not open. */
export function titleOf(RED: NodeAPI, inbox: Inbox): string {
  const open = openInboxes().find((each) => each.inbox === inbox);
  return open === undefined ? '' : shownTitle(RED, open);
}

/** The first of the open inboxes, the same at each start: a shared inbox comes first, so all its instances choose it. */
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
 * The inbox node that a node names; undefined where it names none, or one that no longer exists. In that case the default inbox
 * is used and the node reports it: an alarm stored there is better than a lost one.
 * @param gone key of the text for this report
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
  /** Undefined while a variable is not set, or a folder cannot be used: the default inbox is used then. */
  place: InboxLocation | undefined;
  /** Connection settings, for PostgreSQL. Contain a password: not for logs. */
  shared: SharedSettings;
  unsetVariables: UnsetVariables | undefined;
  /** True where the settings do not count: another inbox node has the same store, or they cannot be used. */
  isRefused(): boolean;
}

/** Fraction of the lease after which it is extended: late timers of a busy machine do not let it end. */
const PART = 1 / 4;
/** Longest time between two checks in milliseconds, with a long lease or none known: a deploy may shorten the lease. */
const SELDOM = 5000;

/** Delivery id of the event that a message belongs to; '' where there is none. */
export function deliveryIdOf({ webhook }: NodeMessage & { webhook?: unknown }): string {
  return textOf(isRecord(webhook) ? webhook : {}, 'deliveryId');
}

/**
 * Extends the lease of the event that a message belongs to while a node works on it, so that the event is not redelivered
 * meanwhile.
 * @returns a function that ends this
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

/** An event that was settled meanwhile has no lease; that error is ignored. */
function extend(inboxes: readonly Inbox[], deliveryId: string): void {
  const extending = settleInAny(inboxes, (inbox) => inbox.settle(deliveryId, { action: 'extend' }));
  extending.catch(() => undefined);
}
