import type { NodeAPI } from 'node-red';
import { RvmError } from '../../../lib/error';
import type { Inbox } from '../../../lib/inbox/inbox';
import type { OpenInbox } from '../../../lib/inbox/inboxes';
import { readAll } from '../../../lib/inbox/reading/read-all';
import type { JsonRecord } from '../../../lib/json/json';
import { placeOfKey } from '../../../lib/webhook/endpoint';
import { openInboxes, shownTitle } from '../../rvm-inbox/inboxes';
import { problemsOf } from '../../rvm-webhook-in/problem-registry';
import { notDeployed, webhookAt } from '../../rvm-webhook-in/webhook-node';
import { isId } from '../asked-id';
import { QUARANTINE_ACTIONS, type QuarantineRow } from '../overview';

/** Of all inboxes that can be read. */
export async function quarantineOf(RED: NodeAPI): Promise<QuarantineRow[]> {
  const { answers } = await readAll(openInboxes(), (open) => quarantineIn(RED, open));
  return answers.flat();
}

async function quarantineIn(RED: NodeAPI, open: OpenInbox): Promise<QuarantineRow[]> {
  const sums = await open.inbox.quarantineSums();
  const inboxTitle = openInboxes().length > 1 ? shownTitle(RED, open) : null;
  return sums.map((sum) => {
    const webhook = webhookAt(RED, sum.endpointId)?.webhook;
    const canVerify = webhook !== undefined && open.inbox.hasConsumer(sum.endpointId);
    const { path } = placeOfKey(sum.endpointId);
    return { ...sum, inbox: open.id, inboxTitle, path, title: webhook?.title ?? null, canVerify };
  });
}

/**
 * In the inbox of which the sum was shown, and no other: ids count anew in each.
 * @returns how many messages a current phrase has proved
 * @throws RvmError BAD_INPUT, CONFIG_MISSING, STORE_FAILED
 */
export async function actOnQuarantine(RED: NodeAPI, asked: JsonRecord): Promise<{ accepted: number }> {
  const { endpointId, lastId } = asked;
  const action = QUARANTINE_ACTIONS.find((known) => known === asked.action);
  const inbox = openInboxes().find(({ id }) => id === asked.inbox)?.inbox;
  if (action === undefined || typeof endpointId !== 'string' || !isId(lastId)) {
    throw new RvmError(
      'BAD_INPUT',
      'Name an inbox, a webhook, the last message seen, and what to do: verify or discard.',
    );
  }
  if (inbox === undefined) {
    throw new RvmError('BAD_INPUT', 'This inbox is not open any more: see what the sidebar shows now.');
  }
  if (action === 'verify') return { accepted: await judgeAgain(RED, endpointId, inbox) };
  await inbox.releaseUpTo(endpointId, lastId);
  const id = webhookAt(RED, endpointId)?.id;
  if (id !== undefined) problemsOf(id).forgetRefusals();
  return { accepted: 0 };
}

/** A webhook looks into its own inbox alone. */
async function judgeAgain(RED: NodeAPI, endpointId: string, inbox: Inbox): Promise<number> {
  const webhook = webhookAt(RED, endpointId)?.webhook;
  if (webhook === undefined) throw notDeployed();
  if (inbox.hasConsumer(endpointId)) return webhook.judgeAgain();
  throw new RvmError(
    'CONFIG_MISSING',
    'This webhook has another inbox now: give it the former one again to check these messages.',
  );
}
