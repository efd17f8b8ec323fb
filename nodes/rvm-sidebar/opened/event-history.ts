import type { NodeAPI } from 'node-red';
import { RvmError } from '../../../lib/error';
import type { JsonRecord } from '../../../lib/json/json';
import { webhookAt } from '../../rvm-webhook-in/webhook-node';
import { keptEvent } from '../kept-event';
import type { EventHistory } from '../overview';

/**
 * What became of an event, of which camera it is, and which *webhook in* has it.
 * @throws RvmError BAD_INPUT, UNKNOWN_DELIVERY, STORE_FAILED
 */
export async function eventHistory(RED: NodeAPI, { deliveryId }: JsonRecord): Promise<EventHistory> {
  if (typeof deliveryId !== 'string') throw new RvmError('BAD_INPUT', 'Name an event by its delivery.');
  const { history = [], event, endpointId } = await keptEvent(deliveryId, { history: true });
  const camera = { id: textIn(event.cameraId), remoteId: textIn(event.cameraRemoteId) };
  return { history, camera, webhook: webhookOf(RED, endpointId) };
}

function webhookOf(RED: NodeAPI, endpointId: string): EventHistory['webhook'] {
  const webhook = webhookAt(RED, endpointId)?.webhook;
  if (webhook === undefined) return null;
  const { title, path = '', maxAttempts = null } = webhook;
  return { title, path, maxAttempts };
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
