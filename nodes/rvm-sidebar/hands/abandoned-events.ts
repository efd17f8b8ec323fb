import type { NodeAPI } from 'node-red';
import { RvmError } from '../../../lib/error';
import type { Actor } from '../../../lib/inbox/history';
import type { OpenInbox } from '../../../lib/inbox/inboxes';
import type { JsonRecord } from '../../../lib/json/json';
import { placeOfKey } from '../../../lib/webhook/endpoint';
import { openInboxes, shownTitle } from '../../rvm-inbox/inboxes';
import { webhookIds } from '../../rvm-webhook-in/problem-registry';
import { findWebhook } from '../../rvm-webhook-in/webhook-node';
import { onFlows } from '../../support/flows';
import type { AbandonedRow, Taker } from '../overview';

/** Events that wait at paths that no *webhook in* of this Node-RED has: they are shown, and can be given to one. */
export class AbandonedEvents {
  /** In a deploy no path has its node for a moment. */
  #areRunning = false;

  constructor(private readonly RED: NodeAPI) {
    onFlows(RED, 'started', () => (this.#areRunning = true));
    onFlows(RED, 'stopping', () => (this.#areRunning = false));
  }

  rows(): AbandonedRow[] {
    return this.#areRunning ? openInboxes().flatMap((open) => this.#rowsOf(open)) : [];
  }

  /**
   * To a *webhook in* that uses the same inbox.
   * @returns how many events there were
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
    // Asked of the inbox: what other instances have accepted or dealt with meanwhile is not counted here.
    const { [endpointId]: assigned = 0 } = await open.inbox.openByEndpoint();
    await open.inbox.assign(endpointId, to, actor);
    return { assigned };
  }

  #rowsOf(open: OpenInbox): AbandonedRow[] {
    const inboxTitle = openInboxes().length > 1 ? shownTitle(this.RED, open) : null;
    const takers = this.#takersOf(open);
    return open.inbox.abandoned().map((endpointId) => ({
      ...placeOfKey(endpointId),
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
