import type { NodeMessage } from 'node-red';
import { actWhereKnown } from '../../lib/inbox/act-where-known';
import type { Inbox } from '../../lib/inbox/inbox';
import { isRecord } from '../../lib/json/json-record';
import { textOf } from './settings';

/** Milliseconds: half of the shortest lease that is of any use. */
const OFTEN = 5000;

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
  // An event that no inbox knows, or that is settled, has no lease: nothing is lost.
  const extend = (): void =>
    void actWhereKnown(inboxes(), (inbox) => inbox.settle(deliveryId, { action: 'extend' })).catch(
      () => undefined,
    );
  extend();
  const timer = setInterval(extend, OFTEN);
  return () => clearInterval(timer);
}
