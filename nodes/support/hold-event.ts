import type { NodeMessage } from 'node-red';
import { actWhereKnown } from '../../lib/inbox/act-where-known';
import type { Inbox } from '../../lib/inbox/inbox';
import { isRecord } from '../../lib/json/json';
import { textOf } from './settings';

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
export function holdEvent(inboxes: () => readonly Inbox[], msg: NodeMessage): () => void {
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
