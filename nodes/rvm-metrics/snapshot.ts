import type { NodeAPI } from 'node-red';
import { withTimeout } from '../../lib/concurrency/timers';
import type { Inbox, InboxFigures } from '../../lib/inbox/model';
import type { OpenInbox } from '../../lib/inbox/inboxes';
import type { InboxSnapshot, Snapshot, StationSnapshot } from '../../lib/metrics/metrics';
import { FAULTS, severityOf, WARNINGS } from '../../lib/watch/findings';
import { alarmStates } from '../rvm-alarm-state/alarm-node';
import { allStations, type Station } from '../rvm-central-station/station';
import { openInboxes } from '../rvm-inbox/inboxes';
import { allStanding } from '../rvm-watch/verdict';

/** Current values of all metrics. */
export async function snapshotOf(RED: NodeAPI, figures: CachedFigures): Promise<Snapshot> {
  const inboxes = openInboxes().map(async (open) => inboxSnapshot(open, await figures.of(open.inbox)));
  return {
    stations: allStations(RED).map(stationSnapshot),
    inboxes: await Promise.all(inboxes),
    ...raisedGroups(),
    findings: findingsOf(RED),
  };
}

function stationSnapshot({ key, serviceState, isHeldUp }: Station): StationSnapshot {
  const { kind } = serviceState;
  const isUnknown = kind === 'idle' || kind === 'logging-in';
  return { key, isConnected: isUnknown ? undefined : kind === 'connected', isCircuitOpen: isHeldUp };
}

function inboxSnapshot({ inbox, place }: OpenInbox, figures: InboxFigures | undefined): InboxSnapshot {
  const { durable, spilled = 0 } = inbox.state();
  return {
    engine: place.folder === undefined ? 'postgres' : 'sqlite',
    isDurable: durable === true,
    waiting: inbox.allWaiting(),
    spilled,
    ...(figures && {
      oldestWaiting: Math.max(0, ...Object.values(figures.oldest)) / 1000,
      dead: figures.dead,
    }),
  };
}

/** Counts groups once per state, because nodes may share a state. */
function raisedGroups(): Pick<Snapshot, 'raisedGroups'> {
  const raised = new Map(alarmStates().map((state) => [state.shared, state.raised().length]));
  if (raised.size === 0) return {};
  return { raisedGroups: [...raised.values()].reduce((sum, count) => sum + count, 0) };
}

function findingsOf(RED: NodeAPI): Snapshot['findings'] {
  const standing = allStanding(RED);
  if (standing === undefined) return [];
  return [...FAULTS, ...WARNINGS].map((what) => ({
    what,
    severity: severityOf(what),
    count: standing.filter((each) => each.what === what).length,
  }));
}

/** Milliseconds that a scrape waits for one inbox at most. */
const TIMEOUT_MS = 1000;

/** Queries the figures of inboxes. An inbox that hangs has one pending query, however often it is scraped. */
export class CachedFigures {
  readonly #asking = new WeakMap<Inbox, Promise<InboxFigures | undefined>>();

  /** Undefined where the inbox fails or does not answer in time. */
  of(inbox: Inbox): Promise<InboxFigures | undefined> {
    const asking = this.#asking.get(inbox) ?? this.#ask(inbox);
    return withTimeout(asking, TIMEOUT_MS);
  }

  #ask(inbox: Inbox): Promise<InboxFigures | undefined> {
    const asking = inbox
      .figures()
      .catch(() => undefined)
      .finally(() => this.#asking.delete(inbox));
    this.#asking.set(inbox, asking);
    return asking;
  }
}
