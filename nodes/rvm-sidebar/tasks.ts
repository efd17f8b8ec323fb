import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { settleInAny, type OpenInbox } from '../../lib/inbox/inboxes';
import type { Actor, Inbox } from '../../lib/inbox/model';
import { readAll } from '../../lib/inbox/searches';
import type { JsonRecord } from '../../lib/json/json';
import { addressOfKey } from '../../lib/webhook/endpoint';
import { isRefusal } from '../../lib/webhook/problem';
import { allInboxes, openInboxes, shownTitle } from '../rvm-inbox/inboxes';
import { lastProblem, problemsOf, webhookIds } from '../rvm-webhook-in/problem-registry';
import { findWebhook, notDeployed, webhookAt } from '../rvm-webhook-in/webhook-node';
import { onFlowsState } from '../support/flows';
import { problemKey } from '../support/status';
import {
  type AbandonedRow,
  type ActedOn,
  DEAD_ACTIONS,
  MOST_AT_ONCE,
  type Overview,
  type ProblemRow,
  QUARANTINE_ACTIONS,
  type QuarantineRow,
  type Taker,
} from './overview';

/** Events at paths that no *webhook in* of this Node-RED has; a user can assign them to one. */
export class UnownedEvents {
  /** False during a deploy, when no path has its node for a moment. */
  #areRunning = false;

  constructor(private readonly RED: NodeAPI) {
    onFlowsState(RED, 'started', () => (this.#areRunning = true));
    onFlowsState(RED, 'stopping', () => (this.#areRunning = false));
  }

  rows(): AbandonedRow[] {
    return this.#areRunning ? openInboxes().flatMap((open) => this.#rowsOf(open)) : [];
  }

  /**
   * Assigns events to a *webhook in* that uses the same inbox.
   * @returns number of events
   * @throws RvmError BAD_INPUT, CONFIG_MISSING, STORE_FAILED
   */
  async assign({ inbox: inboxId, endpointId, to }: JsonRecord, actor: Actor): Promise<{ assigned: number }> {
    if (typeof endpointId !== 'string' || typeof to !== 'string') {
      throw new RvmError(
        'BAD_INPUT',
        'Name an inbox, the path at which events wait, and the one to assign them to.',
      );
    }
    const open = openInboxes().find(({ id }) => id === inboxId);
    if (open === undefined || !open.inbox.abandoned().includes(endpointId)) {
      throw new RvmError('BAD_INPUT', 'No such events wait there any more: see what the sidebar shows now.');
    }
    if (!this.#takersOf(open).some((taker) => taker.endpointId === to)) {
      throw new RvmError(
        'CONFIG_MISSING',
        'This webhook is not deployed, or has another inbox: choose one that the sidebar shows now.',
      );
    }
    // Queried from the inbox, because the local count misses what other instances have accepted or settled
    // meanwhile.
    const { [endpointId]: assigned = 0 } = await open.inbox.openByEndpoint();
    await open.inbox.assign(endpointId, to, actor);
    return { assigned };
  }

  #rowsOf(open: OpenInbox): AbandonedRow[] {
    const inboxTitle = openInboxes().length > 1 ? shownTitle(this.RED, open) : null;
    const takers = this.#takersOf(open);
    return open.inbox.abandoned().map((endpointId) => ({
      ...addressOfKey(endpointId),
      inbox: open.id,
      inboxTitle,
      endpointId,
      count: open.inbox.waiting(endpointId),
      takers,
    }));
  }

  #takersOf({ inbox }: OpenInbox): Taker[] {
    return webhookIds().flatMap((id) => {
      const { endpointId, path, title } = findWebhook(this.RED, id) ?? {};
      if (endpointId === undefined || path === undefined || title === undefined) return [];
      return inbox.hasConsumer(endpointId) ? [{ endpointId, path, title }] : [];
    });
  }
}

/**
 * Acts on one dead letter, or on several, of which some may be gone meanwhile.
 * @throws RvmError BAD_INPUT; for a single one UNKNOWN_DELIVERY and STORE_FAILED, too
 */
export async function deadLetterAction(
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
  const results = await Promise.allSettled(ids.map((id) => settleInAny(allInboxes(), act(id))));
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

type ProblemRows = Pick<Overview, 'refused' | 'problems' | 'lastProblem' | 'hasUnseen'>;

/** Problems of the deployed *webhook in* nodes. */
export function problemRows(RED: NodeAPI, quarantine: readonly QuarantineRow[]): ProblemRows {
  const ids = webhookIds().filter((id) => findWebhook(RED, id) !== undefined);
  const rows = ids.flatMap((id) => rowsOf(RED, id));
  const isKept = ({ webhook, reason }: ProblemRow): boolean =>
    quarantine.some(
      ({ endpointId, lastReason }) =>
        lastReason === reason && endpointId === findWebhook(RED, webhook)?.endpointId,
    );
  return {
    refused: rows.filter((row) => isRefusal(row.reason) && !isKept(row)),
    problems: rows.filter(({ reason }) => !isRefusal(reason)),
    lastProblem: lastProblem(),
    hasUnseen: ids.some((id) => problemsOf(id).hasUnseen),
  };
}

function rowsOf(RED: NodeAPI, webhook: string): ProblemRow[] {
  const title = findWebhook(RED, webhook)?.title ?? '';
  return problemsOf(webhook)
    .tallies()
    .map((tally) => ({ ...tally, title, text: problemKey(tally), webhook }));
}

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
    const { path } = addressOfKey(sum.endpointId);
    return { ...sum, inbox: open.id, inboxTitle, path, title: webhook?.title ?? null, canVerify };
  });
}

/**
 * Acts on a quarantine, only in the inbox of the displayed sum: ids are unique only within an inbox.
 * @returns number of messages that a current phrase has proved
 * @throws RvmError BAD_INPUT, CONFIG_MISSING, STORE_FAILED
 */
export async function actOnQuarantine(RED: NodeAPI, input: JsonRecord): Promise<{ accepted: number }> {
  const { endpointId, lastId } = input;
  const action = QUARANTINE_ACTIONS.find((known) => known === input.action);
  const inbox = openInboxes().find(({ id }) => id === input.inbox)?.inbox;
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

/** A webhook judges messages of its own inbox only. */
async function judgeAgain(RED: NodeAPI, endpointId: string, inbox: Inbox): Promise<number> {
  const webhook = webhookAt(RED, endpointId)?.webhook;
  if (webhook === undefined) throw notDeployed();
  if (inbox.hasConsumer(endpointId)) return webhook.judgeAgain();
  throw new RvmError(
    'CONFIG_MISSING',
    'This webhook has another inbox now: give it the former one again to check these messages.',
  );
}

/** True for a valid id of a list row. */
export function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}
