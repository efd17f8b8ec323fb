import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { actWhereKnown } from '../../lib/inbox/act-where-known';
import { eventRow } from '../../lib/inbox/event-row';
import type { Actor } from '../../lib/inbox/history';
import type { DeadReason, Inbox, ListedMessage } from '../../lib/inbox/inbox';
import type { OpenInbox } from '../../lib/inbox/inboxes';
import { listAll, readAll } from '../../lib/inbox/read-all';
import type { JsonRecord } from '../../lib/json/json-record';
import { allStations } from '../rvm-central-station/find-station';
import { allInboxes, openInboxes, shownTitle } from '../rvm-inbox/inboxes';
import { pictureKindOf, pictureOf } from '../support/last-pictures';
import { problemsOf, problemsSeen } from '../rvm-webhook-in/problem-registry';
import { notDeployed, webhookAt } from '../rvm-webhook-in/webhook-node';
import { placeOfKey } from '../../lib/webhook/receive/endpoint-key';
import { userOf } from '../support/actor';
import { readRoute, writeRoute } from '../support/admin-route';
import { problemKey } from '../support/problem-text';
import { unknownPaths } from '../support/unknown-paths';
import { nodeIsNewEnough } from '../support/node-version';
import { AbandonedEvents } from './abandoned-events';
import { hasVideo } from './asked-video';
import { eventHistory } from './event-history';
import { inboxFaults } from './inbox-faults';
import { sharingRows } from './instances';
import { problemRows } from './problem-rows';
import {
  DEAD_ACTIONS,
  QUARANTINE_ACTIONS,
  type Overview,
  type Picture,
  type QuarantineRow,
  type SidebarRow,
  type StationRow,
} from './overview';
import { acceptSite, pendingSites, raiseAlarms } from './sandboxes';
import { addVideoRoutes } from './video-routes';

/** Rows of a list. */
const MOST = 50;

async function overview(RED: NodeAPI, abandoned: AbandonedEvents): Promise<Overview> {
  const [events, dead, quarantine, sharing] = await Promise.all([
    listAll(allInboxes(), { state: 'all', limit: MOST }),
    listAll(allInboxes(), { state: 'dead', limit: MOST }),
    quarantineOf(RED),
    sharingRows(),
  ]);
  return {
    events: events.messages.map((message) => sidebarRow(RED, message)),
    dead: dead.messages.map((message) => sidebarRow(RED, message)),
    quarantine,
    abandoned: abandoned.rows(),
    ...problemRows(RED, quarantine),
    unknownPaths: unknownPaths(RED).all(),
    stations: allStations(RED).map((station): StationRow => ({
      id: station.id,
      key: station.key,
      name: station.name,
      isSandbox: station.isSandbox,
      status: station.status(),
    })),
    pending: pendingSites(RED),
    sharing,
    ...inboxFaults(events.faults),
  };
}

function sidebarRow(RED: NodeAPI, message: ListedMessage): SidebarRow {
  const { proof, canRetry, reason, deliveryId, verdict } = message;
  const picture = pictureKindOf(deliveryId) ?? null;
  const why = reason && { why: whyKey(reason) };
  const row = { ...eventRow(message), canRetry, picture, hasVideo: hasVideo(RED, message) };
  return { ...row, ...(proof && { proof }), ...(verdict && { verdict }), ...why };
}

/** What a disk has damaged was no problem while it came in. */
function whyKey(reason: DeadReason): string {
  return reason === 'unreadable' ? 'rvm-sidebar.unreadable' : problemKey({ kind: 'dead-letter', reason });
}

/** Of all inboxes that can be read. */
async function quarantineOf(RED: NodeAPI): Promise<QuarantineRow[]> {
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

/** @throws RvmError BAD_INPUT, UNKNOWN_DELIVERY, STORE_FAILED */
async function actOnDead({ deliveryId, action }: JsonRecord, actor: Actor): Promise<void> {
  const wanted = DEAD_ACTIONS.find((known) => known === action);
  if (wanted === undefined || typeof deliveryId !== 'string') {
    throw new RvmError('BAD_INPUT', 'Name a delivery, and what to do with it: retry or discard.');
  }
  await actWhereKnown(allInboxes(), (inbox) =>
    wanted === 'retry'
      ? inbox.settle(deliveryId, { action: 'retry' }, actor)
      : inbox.dismiss(deliveryId, actor),
  );
}

/**
 * In the inbox of which the sum was shown, and no other: ids count anew in each.
 * @returns how many messages a current phrase has proved
 * @throws RvmError BAD_INPUT, CONFIG_MISSING, STORE_FAILED
 */
async function actOnQuarantine(RED: NodeAPI, asked: JsonRecord): Promise<{ accepted: number }> {
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

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
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

/** A person has looked at what the sidebar lists. @throws RvmError BAD_INPUT */
function seen({ lastProblem }: JsonRecord): void {
  if (!isId(lastProblem)) throw new RvmError('BAD_INPUT', 'Name the last problem that was seen.');
  problemsSeen(lastProblem);
}

function picture({ deliveryId }: JsonRecord): Picture {
  const jpeg = typeof deliveryId === 'string' ? pictureOf(deliveryId) : undefined;
  return { jpeg: jpeg?.toString('base64') ?? null };
}

/** What the sidebar "Remote monitoring" asks. */
export = (RED: NodeAPI): void => {
  if (!nodeIsNewEnough()) return;
  const abandoned = new AbandonedEvents(RED);
  readRoute(RED, 'overview', () => overview(RED, abandoned));
  readRoute(RED, 'picture', picture);
  readRoute(RED, 'history', eventHistory);
  // Not the question for the overview: that is asked by whatever polls, and changes nothing.
  writeRoute(RED, 'problems-seen', seen);
  writeRoute(RED, 'dead-letters', (asked, req) => actOnDead(asked, userOf(req)));
  writeRoute(RED, 'quarantine', (asked) => actOnQuarantine(RED, asked));
  writeRoute(RED, 'abandoned-events', (asked, req) => abandoned.assign(asked, userOf(req)));
  writeRoute(RED, 'sandbox-alarms', () => raiseAlarms(RED));
  writeRoute(RED, 'sandbox-sites', (asked) => acceptSite(RED, asked));
  addVideoRoutes(RED);
};
