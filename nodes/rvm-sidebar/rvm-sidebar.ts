import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { ListedMessage } from '../../lib/inbox/inbox';
import { listAll } from '../../lib/inbox/reading/read-all';
import { wordsOf } from '../../lib/text';
import type { JsonRecord } from '../../lib/json/json';
import { allStations, type Station } from '../rvm-central-station/station';
import { allInboxes } from '../rvm-inbox/inboxes';
import { problemsSeen } from '../rvm-webhook-in/problem-registry';
import { userOf } from '../support/input';
import { readRoute, writeRoute } from '../support/admin-routes';
import { pictureOf } from '../support/recent-video';
import { nodeIsNewEnough } from '../support/register';
import { wordsOf as wordsOfStatus } from '../support/status-words';
import { unknownPaths } from '../support/webhook-server';
import { isId } from './asked-id';
import { deadLetters, findEvents, matching } from './events/find-events';
import { Searches } from './events/searches';
import { sidebarRow } from './events/sidebar-row';
import { AbandonedEvents } from './hands/abandoned-events';
import { actOnDead } from './hands/dead-letters';
import { inboxFaults, lastIncident } from './hands/inbox-faults';
import { problemRows } from './hands/problem-rows';
import { actOnQuarantine, quarantineOf } from './hands/quarantine';
import { eventHistory } from './opened/event-history';
import type { Overview, Picture, SidebarRow, StationRow } from './overview';
import { sharingRows } from './stations/instances';
import { acceptSite, pendingSites, raiseAlarms } from './stations/sandboxes';
import { sendWords } from './status-words';
import { Counting } from './totals';
import { addVideoRoutes } from './video/video-routes';

/** Rows of a list. */
const MOST = 50;

async function overview(
  RED: NodeAPI,
  { abandoned, counting }: { abandoned: AbandonedEvents; counting: Counting },
  { search }: JsonRecord,
): Promise<Overview> {
  const [events, dead, quarantine, sharing, { totals, last }] = await Promise.all([
    listAll(allInboxes(), { state: 'all', limit: MOST }),
    listAll(allInboxes(), { state: 'dead', limit: MOST }),
    quarantineOf(RED),
    sharingRows(),
    counting.current(),
  ]);
  const isWanted = matching(RED, wordsOf(search));
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
    stations: allStations(RED).map((station) => stationRow(station, last.get(station.key))),
    pending: pendingSites(RED),
    sharing,
    ...inboxFaults(events.faults),
    incident: lastIncident(RED),
  };
}

function oldestOf(messages: readonly ListedMessage[]): string | null {
  return messages.length < MOST ? null : (messages.at(-1)?.receivedTime ?? null);
}

function stationRow(station: Station, last: number | undefined): StationRow {
  const { id, key, name, isSandbox } = station;
  const status = station.status();
  return {
    id,
    key,
    name,
    isSandbox,
    status,
    words: status.text ? wordsOfStatus(status) : null,
    last: last === undefined ? null : new Date(last).toISOString(),
  };
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
  sendWords(RED);
  const counting = new Counting();
  const searches = new Searches();
  readRoute(RED, 'overview', (asked) => overview(RED, { abandoned, counting }, asked));
  readRoute(RED, 'events', (asked) => findEvents(RED, searches, asked));
  readRoute(RED, 'dead-letters', (asked) => deadLetters(RED, searches, asked));
  readRoute(RED, 'picture', picture);
  readRoute(RED, 'history', (asked) => eventHistory(RED, asked));
  // Not the question for the overview: that is asked by whatever polls, and changes nothing.
  writeRoute(RED, 'problems-seen', seen);
  writeRoute(RED, 'dead-letters', (asked, req) => actOnDead(asked, userOf(req)));
  writeRoute(RED, 'quarantine', (asked) => actOnQuarantine(RED, asked));
  writeRoute(RED, 'abandoned-events', (asked, req) => abandoned.assign(asked, userOf(req)));
  writeRoute(RED, 'sandbox-alarms', () => raiseAlarms(RED));
  writeRoute(RED, 'sandbox-sites', (asked) => acceptSite(RED, asked));
  addVideoRoutes(RED);
};
