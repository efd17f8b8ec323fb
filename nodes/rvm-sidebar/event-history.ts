import { RvmError } from '../../lib/error';
import type { JsonRecord } from '../../lib/json/json-record';
import { keptEvent } from './kept-event';
import type { EventHistory } from './overview';

/** What became of an event. @throws RvmError BAD_INPUT, UNKNOWN_DELIVERY, STORE_FAILED */
export async function eventHistory({ deliveryId }: JsonRecord): Promise<EventHistory> {
  if (typeof deliveryId !== 'string') throw new RvmError('BAD_INPUT', 'Name an event by its delivery.');
  const { history = [] } = await keptEvent(deliveryId, { history: true });
  return { history };
}
