import type { NodeAPI, NodeStatus } from 'node-red';
import { RvmError } from '../../lib/error';
import type { ListedMessage } from '../../lib/inbox/model';
import { listAll, readAll } from '../../lib/inbox/searches';
import { reasonOf } from '../../lib/inbox/store/port';
import type { JsonRecord } from '../../lib/json/json';
import { parseTerms } from '../../lib/text';
import { allStations, type Station } from '../rvm-central-station/station';
import { incidentText } from '../rvm-inbox/inbox-log';
import { allInboxes, openInboxes, shownTitle } from '../rvm-inbox/inboxes';
import { problemsSeen } from '../rvm-webhook-in/problem-registry';
import { readRoute, writeRoute } from '../support/admin-routes';
import { userOf } from '../support/input';
import { pictureOf } from '../support/recent-video';
import { nodeIsNewEnough } from '../support/register';
import { type SentWords, WORDS_TOPIC, wordsIn, wordsOf as wordsOfStatus } from '../support/status-words';
import { unknownPaths } from '../support/webhook-server';
import { deadLetters, eventHistory, findEvents, matching, Searches, sidebarRow } from './events';
import { SidebarNews } from './news';
import type { Overview, Picture, SharingRow, SidebarRow, StationRow } from './overview';
import { acceptSite, pendingSites, raiseAlarms } from './sandboxes';
import { UnownedEvents, deadLetterAction, actOnQuarantine, isId, problemRows, quarantineOf } from './tasks';
import { CachedTotals } from './totals';
import { addVideoRoutes } from './video-routes';

/** Rows per list. */
const MOST = 50;

async function overview(
  RED: NodeAPI,
  { abandoned, counting }: { abandoned: UnownedEvents; counting: CachedTotals },
  { search }: JsonRecord,
): Promise<Overview> {
  const [events, dead, quarantine, sharing, { totals, last }] = await Promise.all([
    listAll(allInboxes(), { state: 'all', limit: MOST }),
    listAll(allInboxes(), { state: 'dead', limit: MOST }),
    quarantineOf(RED),
    sharingRows(),
    counting.current(),
  ]);
  const isWanted = matching(RED, parseTerms(search));
  const rowsOf = ({ messages }: { messages: ListedMessage[] }): SidebarRow[] =>
    messages.filter(isWanted).map((message) => sidebarRow(RED, message));
  return {
    totals,
    from: { events: oldestOf(events.messages), dead: oldestOf(dead.messages) },
    events: rowsOf(events),
    dead: rowsOf(dead),
    quarantine,
    abandoned: abandoned.rows(),
    ...problemRows(RED, quarantine),
    unknownPaths: unknownPaths(RED).all(),
    stations: allStations(RED).map((station) => {
      // The newest may be kept beside an inbox that cannot store: it is not among those that are counted.
      const newest = events.messages.find((message) => message.station === station.key)?.receivedTime;
      return stationRow(station, Math.max(last.get(station.key) ?? 0, Date.parse(newest ?? '') || 0));
    }),
    pending: pendingSites(RED),
    sharing,
    ...inboxFaults(events.faults),
    incident: lastIncident(RED),
  };
}

function oldestOf(messages: readonly ListedMessage[]): string | null {
  return messages.length < MOST ? null : (messages.at(-1)?.receivedTime ?? null);
}

/** @param last 0 = none */
function stationRow(station: Station, last: number): StationRow {
  const { id, key, name, isSandbox } = station;
  const status = station.status();
  return {
    id,
    key,
    name,
    isSandbox,
    status,
    words: status.text ? wordsOfStatus(status) : null,
    last: last === 0 ? null : new Date(last).toISOString(),
  };
}

/**
 * Marks problems as seen by a user.
 * @throws RvmError BAD_INPUT
 */
function seen({ lastProblem }: JsonRecord): void {
  if (!isId(lastProblem)) throw new RvmError('BAD_INPUT', 'Name the last problem that was seen.');
  problemsSeen(lastProblem);
}

function picture({ deliveryId }: JsonRecord): Picture {
  const jpeg = typeof deliveryId === 'string' ? pictureOf(deliveryId) : undefined;
  return { jpeg: jpeg?.toString('base64') ?? null };
}

/** Routes of the sidebar "Remote monitoring". */
export = (RED: NodeAPI): void => {
  if (!nodeIsNewEnough()) return;
  const abandoned = new UnownedEvents(RED);
  sendWords(RED);
  const counting = new CachedTotals();
  const searches = new Searches();
  const news = new SidebarNews(RED, () => overview(RED, { abandoned, counting }, {}));
  readRoute(RED, 'overview', (input) => {
    news.asked();
    return overview(RED, { abandoned, counting }, input);
  });
  readRoute(RED, 'events', (input) => findEvents(RED, searches, input));
  readRoute(RED, 'dead-letters', (input) => deadLetters(RED, searches, input));
  readRoute(RED, 'picture', picture);
  readRoute(RED, 'history', (input) => eventHistory(RED, input));
  // A route of its own: the overview is polled and must change nothing.
  writeRoute(RED, 'problems-seen', seen);
  writeRoute(RED, 'dead-letters', (input, req) => deadLetterAction(input, userOf(req)));
  writeRoute(RED, 'quarantine', (input) => actOnQuarantine(RED, input));
  writeRoute(RED, 'abandoned-events', (input, req) => abandoned.assign(input, userOf(req)));
  writeRoute(RED, 'sandbox-alarms', () => raiseAlarms(RED));
  writeRoute(RED, 'sandbox-sites', (input) => acceptSite(RED, input));
  addVideoRoutes(RED);
};

/** Event of the runtime: the status of a node has changed. */
interface StatusEvent {
  id: string;
  /** Absent where the node was closed. */
  status?: NodeStatus;
}

/**
 * Sends text key and values of each status to the editors, in addition to the status: Node-RED passes on only its text, fill
 * and shape. Node-RED retains them for editors that connect later, until the node shows something else.
 */
function sendWords(RED: NodeAPI): void {
  const kept = new Set<string>();
  RED.events.on('node-status', ({ id, status }: StatusEvent) => {
    const words = status === undefined ? undefined : wordsIn(status);
    const topic = `${WORDS_TOPIC}/${id}`;
    if (words !== undefined) {
      kept.add(id);
      RED.comms.publish(topic, { text: status?.text ?? '', words } satisfies SentWords, true);
    } else if (kept.delete(id)) {
      RED.comms.publish(topic, {}, false);
    }
  });
}

/** Text of the newest incident of an inbox file. */
function lastIncident(RED: NodeAPI): string | null {
  const [last] = openInboxes()
    .flatMap((open) => {
      const { incident } = open.inbox.state();
      return incident === undefined ? [] : [{ open, ...incident }];
    })
    .toSorted((one, other) => one.ago - other.ago);
  return last === undefined ? null : incidentText(RED, shownTitle(RED, last.open), last.is);
}

/**
 * Why an inbox cannot store or be read.
 * @param unread errors of reading
 */
function inboxFaults(unread: readonly unknown[]): Pick<Overview, 'fault' | 'isCut' | 'isPartial'> {
  const failing = openInboxes().filter(({ inbox }) => inbox.state().durable === false);
  const faults = [
    ...failing.map(({ inbox }) => inbox.state().fault ?? ''),
    ...unread.map((error) => reasonOf(error)),
  ];
  return {
    fault: faults[0] ?? null,
    isCut: failing.some(({ place }) => place.folder === undefined),
    isPartial: unread.length > 0,
  };
}

/** Instances that share the inboxes of this process, as far as they can be read. Inboxes that are not shared are left out. */
async function sharingRows(): Promise<SharingRow[]> {
  const shared = openInboxes().filter(({ place }) => place.folder === undefined);
  const { answers } = await readAll(shared, async ({ inbox, place }) => ({
    inbox: place.title,
    instances: await inbox.instances(),
  }));
  return answers.filter(({ instances }) => instances.length > 0);
}
