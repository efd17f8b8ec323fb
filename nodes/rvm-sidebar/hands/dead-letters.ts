import { RvmError } from '../../../lib/error';
import { actWhereKnown } from '../../../lib/inbox/act-where-known';
import type { Actor } from '../../../lib/inbox/history';
import type { Inbox } from '../../../lib/inbox/inbox';
import type { JsonRecord } from '../../../lib/json/json';
import { allInboxes } from '../../rvm-inbox/inboxes';
import { DEAD_ACTIONS, MOST_AT_ONCE, type ActedOn } from '../overview';

/**
 * Does something with one dead letter, or with several at once, of which some may be gone meanwhile.
 * @throws RvmError BAD_INPUT; of a single one UNKNOWN_DELIVERY and STORE_FAILED, too
 */
export async function actOnDead(
  { deliveryId, deliveryIds, action }: JsonRecord,
  actor: Actor,
): Promise<ActedOn> {
  const wanted = DEAD_ACTIONS.find((known) => known === action);
  const ids = typeof deliveryId === 'string' ? [deliveryId] : deliveryIds;
  if (wanted === undefined || !isListOfIds(ids)) {
    throw new RvmError('BAD_INPUT', 'Name a delivery, and what to do with it: retry or discard.');
  }
  const act = (id: string) => (inbox: Inbox) =>
    wanted === 'retry' ? inbox.settle(id, { action: 'retry' }, actor) : inbox.dismiss(id, actor);
  const results = await Promise.allSettled(ids.map((id) => actWhereKnown(allInboxes(), act(id))));
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  if (ids.length === 1 && failures.length > 0) throw failures[0];
  return { done: ids.length - failures.length, failed: failures.length };
}

function isListOfIds(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_AT_ONCE) return false;
  return value.every((id) => typeof id === 'string');
}
