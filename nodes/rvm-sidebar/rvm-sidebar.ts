import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { eventRow } from '../../lib/inbox/event-row';
import type { ListQuery } from '../../lib/inbox/inbox';
import type { JsonRecord } from '../../lib/json-record';
import { allStations } from '../rvm-central-station/find-station';
import type { CloudNode } from '../rvm-cloud/cloud-node';
import { allInboxes } from '../rvm-inbox/inboxes';
import { readRoute, writeRoute } from '../support/admin-route';
import { nodeIsNewEnough } from '../support/node-version';
import { DEAD_ACTIONS, type Overview, type SidebarRow, type StationRow } from './overview';

/** Rows of a list. */
const MOST = 50;

async function overview(RED: NodeAPI): Promise<Overview> {
  const [events, dead] = await Promise.all([
    rowsOf({ state: 'all', limit: MOST }),
    rowsOf({ state: 'dead', limit: MOST }),
  ]);
  return {
    events: events.rows,
    dead: dead.rows,
    stations: allStations(RED).map((station): StationRow => ({
      id: station.id,
      key: station.key,
      name: station.name,
      isSandbox: station.isSandbox,
      status: station.status(),
    })),
    isDurable: events.isComplete && allInboxes().every((inbox) => inbox.state().durable !== false),
  };
}

/** Of all inboxes that can be read, newest first. */
async function rowsOf(query: ListQuery): Promise<{ rows: SidebarRow[]; isComplete: boolean }> {
  const answers = await Promise.allSettled(allInboxes().map((inbox) => inbox.list(query)));
  const messages = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  messages.sort((one, other) => other.receivedTime.localeCompare(one.receivedTime));
  return {
    rows: messages
      .slice(0, query.limit)
      .map((message) => ({ ...eventRow(message), ...(message.proof && { proof: message.proof }) })),
    isComplete: answers.every(({ status }) => status === 'fulfilled'),
  };
}

/** @throws RvmError BAD_INPUT, UNKNOWN_DELIVERY, STORE_FAILED */
async function settle({ deliveryId, action }: JsonRecord): Promise<void> {
  const wanted = DEAD_ACTIONS.find((known) => known === action);
  if (wanted === undefined || typeof deliveryId !== 'string') {
    throw new RvmError('BAD_INPUT', 'Name a delivery, and what to do with it: retry or done.');
  }
  for (const inbox of allInboxes()) if (await inbox.settle(deliveryId, { action: wanted })) return;
  throw new RvmError('UNKNOWN_DELIVERY', 'The inbox does not know this event any more.');
}

/** In every sandbox there is. @throws RvmError CONFIG_MISSING where there is none, and those of its start */
async function raiseAlarms(RED: NodeAPI): Promise<{ alarmIds: string[] }> {
  const clouds: CloudNode[] = [];
  RED.nodes.eachNode(({ type, id }) => {
    const node = type === 'rvm-cloud' ? (RED.nodes.getNode(id) as CloudNode | null) : undefined;
    if (node?.isSandbox === true) clouds.push(node);
  });
  if (clouds.length === 0) {
    throw new RvmError('CONFIG_MISSING', 'No cloud is the sandbox: only that raises alarms on demand.');
  }
  const sandboxes = await Promise.all(clouds.map((cloud) => cloud.sandbox()));
  return { alarmIds: sandboxes.map((sandbox) => sandbox.raiseAlarm().alarmId) };
}

/** What the sidebar "Remote monitoring" asks. */
export = (RED: NodeAPI): void => {
  if (!nodeIsNewEnough()) return;
  readRoute(RED, 'overview', () => overview(RED));
  writeRoute(RED, 'dead-letters', settle);
  writeRoute(RED, 'sandbox-alarms', () => raiseAlarms(RED));
};
