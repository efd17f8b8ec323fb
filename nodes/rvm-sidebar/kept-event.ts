import { RvmError } from '../../lib/error';
import type { ListedMessage, ListQuery } from '../../lib/inbox/inbox';
import { listAll } from '../../lib/inbox/reading/read-all';
import { allInboxes } from '../rvm-inbox/inboxes';

/**
 * The event of a delivery, in whichever inbox it is.
 * @throws RvmError UNKNOWN_DELIVERY; STORE_FAILED where an inbox that may have it cannot be read
 */
export async function keptEvent(
  deliveryId: string,
  further: Pick<ListQuery, 'history'> = {},
): Promise<ListedMessage> {
  const query = { ...further, state: 'all', deliveryId, limit: 1 } as const;
  const { messages, faults } = await listAll(allInboxes(), query);
  const [message] = messages;
  if (message !== undefined) return message;
  throw faults[0] ?? new RvmError('UNKNOWN_DELIVERY', 'No inbox knows this event any more.');
}
