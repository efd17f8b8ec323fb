import type { NodeAPI } from 'node-red';
import type { OpenInbox } from '../../lib/inbox/inboxes';
import type { InboxSnapshot, Snapshot } from '../../lib/metrics/snapshot';
import { allStations } from '../rvm-central-station/find-station';
import { openInboxes } from '../rvm-inbox/inboxes';

/** What is so at the moment, as far as it is known without waiting for anybody. */
export async function snapshotOf(RED: NodeAPI): Promise<Snapshot> {
  const stations = allStations(RED).map(({ key, isConnected, isHeldUp }) => ({
    key,
    isConnected,
    isCircuitOpen: isHeldUp,
  }));
  return { stations, inboxes: await Promise.all(openInboxes().map(inboxSnapshot)), findings: [] };
}

async function inboxSnapshot({ inbox, place }: OpenInbox): Promise<InboxSnapshot> {
  return {
    engine: place.folder === undefined ? 'postgres' : 'sqlite',
    isDurable: inbox.state().durable === true,
    waiting: inbox.allWaiting(),
    spilled: 0,
  };
}
