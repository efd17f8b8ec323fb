import type { NodeAPI, NodeStatus } from 'node-red';
import { cutText } from '../../lib/inbox/model';
import { JUDGED, type JudgedFilter, type UnknownIds } from '../../lib/message/event-filter';
import type { WebhookFacts } from '../../lib/watch/findings';
import type { EndpointHealth } from '../../lib/webhook/endpoint-health';
import { missingStatus } from '../rvm-central-station/station';
import { hasSettler } from '../support/flows';
import { textOf, type UnsetVariables } from '../support/settings';
import {
  jointStatus,
  lastAlarmStatus,
  momentOf,
  shownText,
  status,
  type StatusName,
  unsetStatus,
} from '../support/status';
import type { FilterWatch } from './message-checks';
import type { FlowConsumer } from './outputs';
import type { SamePhrase } from './served-stations';
import { silentAfterOf, termsOf } from './settings';
import type { Wiring } from './wiring';

/** Health of a *webhook in*, for nodes that watch the whole installation. */
export interface WebhookHealth extends Pick<
  WebhookFacts,
  'down' | 'isUnproven' | 'isClockBehind' | 'silent'
> {
  /** Short names (keys) of its Central Stations. */
  stations: readonly string[];
}

/** What the state of a *webhook in* is made of, besides its wiring. */
interface StateParts {
  samePhrase: SamePhrase;
  filters: FilterWatch;
  /** Undefined where the node has no address. */
  consumer: FlowConsumer | undefined;
  health: EndpointHealth | undefined;
}

/** Milliseconds between two updates of the status. */
const SHOW_EVERY = 250;

/**
 * Status and health of a *webhook in*, from a snapshot of its parts. Updates of the status are limited: a hundred events in a
 * second cause a few updates, not a hundred.
 */
export class ShownStatus {
  #timer: NodeJS.Timeout | undefined;
  #shownAt = -Infinity;

  constructor(
    private readonly wiring: Wiring,
    private readonly parts: StateParts,
  ) {}

  /** In a later turn of the event loop: an alarm does not wait for it. */
  showSoon(): void {
    const wait = Math.max(0, this.#shownAt + SHOW_EVERY - performance.now());
    this.#timer ??= setTimeout(() => this.show(), wait);
  }

  show(): void {
    this.close();
    this.#shownAt = performance.now();
    this.wiring.node.status(webhookStatus(this.wiring.RED, this.#state()));
  }

  /** Cancels a pending update. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  health(): WebhookHealth {
    const { stations, properties } = this.wiring;
    const { health } = this.parts;
    const state = this.#state();
    const since = health?.since;
    const hours = silentAfterOf(properties);
    return {
      stations: stations.all.map(({ key }) => key),
      down: this.#downOf(state),
      isUnproven: state.isUnproven,
      isClockBehind: health?.isClockBehind,
      silent: since instanceof Date ? { hours, since: since.toISOString() } : since,
    };
  }

  #downOf(state: WebhookState): WebhookHealth['down'] {
    const { RED, server, stations } = this.wiring;
    const listenerFault = server.fault?.();
    if (listenerFault !== undefined) return { reason: listenerFault };
    const { fault, unsetVariables, serverStatus, hasStations, mayJudge } = state;
    const shown = { status: shownText(RED, webhookStatus(RED, state)) };
    // A wrong setting need not block messages.
    const isOut = fault !== undefined && fault !== 'wrongSetting';
    if (isOut || unsetVariables !== undefined || serverStatus !== undefined || !hasStations) return shown;
    if (!stations.areRunning || server.loopbackOrigin() === undefined) return 'unknown';
    return mayJudge ? undefined : shown;
  }

  #state(): WebhookState {
    const { RED, properties, fault, unset, server, stations, inboxNode, inbox, address, unseen } =
      this.wiring;
    const { samePhrase, filters, consumer } = this.parts;
    const { all } = stations;
    const isSettled = termsOf(properties).handledWhen === 'settled';
    return {
      fault,
      unsetVariables: unset,
      serverStatus: server.status(),
      hasStations: all.length > 0,
      stationStatus: all.map((station) => missingStatus(RED, station)).find((lack) => lack !== undefined),
      mayJudge: stations.mayJudge(),
      isDurable: inbox.state().durable !== false,
      isInboxRefused: inboxNode?.isRefused() ?? textOf(properties, 'inbox') !== '',
      lacksSettler: stations.areRunning && isSettled && !hasSettler(),
      samePhrase: samePhrase.names,
      unknownIds: filters.unknown,
      isUnproven: unseen.isUnproven,
      unseenProblems: unseen.count,
      backlog: address === undefined ? 0 : inbox.waiting(address.id),
      offlineSince: all.map((station) => station.offlineSince).find((since) => since !== undefined),
      lastAt: consumer?.lastAt,
      isSandbox: all.some((station) => station.isSandbox),
    };
  }
}

/** Longest list of ids in characters: the status is shown below a node. */
const MOST_OF_IDS = 60;

/** Snapshot from which the status of a *webhook in* is derived. */
export interface WebhookState {
  /** Why the node receives no alarms at all. */
  fault: StatusName | undefined;
  unsetVariables: UnsetVariables | undefined;
  /** Status of the server while it cannot receive. */
  serverStatus: NodeStatus | undefined;
  hasStations: boolean;
  /** Status of the first station that cannot judge a message. */
  stationStatus: NodeStatus | undefined;
  /** At least one station can judge a message, or may soon. */
  mayJudge: boolean;
  /** Messages are durable before they are answered. */
  isDurable: boolean;
  /** The chosen inbox node is missing, or its settings do not count. */
  isInboxRefused: boolean;
  /** Events wait to be settled, but no node settles them. */
  lacksSettler: boolean;
  /** Names of the stations that share a phrase, including stations of other nodes; '' where there are none. */
  samePhrase: string;
  /** Ids in the filter that are unknown. */
  unknownIds: UnknownIds;
  /** Messages were refused as if by a wrong phrase, and no user has seen it yet. */
  isUnproven: boolean;
  /** Number of problems that no flow received and no user has seen. */
  unseenProblems: number;
  /** Number of events that wait for their first delivery. */
  backlog: number;
  /** Since when the service of one of the stations is out of reach. */
  offlineSince: Date | undefined;
  /** Time of the last event. */
  lastAt: Date | undefined;
  isSandbox: boolean;
}

/**
 * Status of a *webhook in*: the first reason why alarms do not reach it or the flow; else all concerns for a user; else the
 * last alarm.
 */
export function webhookStatus(RED: NodeAPI, state: WebhookState): NodeStatus {
  if (state.fault !== undefined) return status(RED, state.fault);
  if (state.unsetVariables !== undefined) return unsetStatus(RED, state.unsetVariables);
  if (state.serverStatus !== undefined) return state.serverStatus;
  if (!state.hasStations) return status(RED, 'notConfigured');
  if (state.stationStatus !== undefined) return withSamePhrase(RED, state, state.stationStatus);
  if (!state.mayJudge) return samePhraseOf(RED, state) ?? status(RED, 'notConfigured');
  if (!state.isDurable) return status(RED, 'notDurable');
  if (state.isInboxRefused) return status(RED, 'wrongSetting');
  if (state.lacksSettler) return status(RED, 'noSettleEvent');
  return jointStatus(RED, concerns(RED, state)) ?? lastAlarmStatus(RED, state.lastAt, state.isSandbox);
}

/** A shared phrase blocks alarms as well, so both are shown. */
function withSamePhrase(RED: NodeAPI, state: WebhookState, first: NodeStatus): NodeStatus {
  const second = samePhraseOf(RED, state);
  return (second && jointStatus(RED, [first, second])) ?? first;
}

/** All concerns are shown together, so none hides another. */
function concerns(RED: NodeAPI, state: WebhookState): NodeStatus[] {
  const { isUnproven, unseenProblems, backlog, offlineSince, lastAt } = state;
  const found = [
    samePhraseOf(RED, state),
    ...JUDGED.map((name) => unknownOf(RED, name, state)),
    isUnproven ? status(RED, 'notProven') : undefined,
    unseenProblems > 0 ? status(RED, 'problems', { count: unseenProblems }) : undefined,
    backlog > 0 ? status(RED, 'backlog', { count: backlog }) : undefined,
    offlineSince !== undefined && !cameSince(offlineSince, lastAt)
      ? status(RED, 'offlineSince', { time: momentOf(offlineSince) })
      : undefined,
  ];
  return found.filter((concern) => concern !== undefined);
}

const UNKNOWN: Readonly<Record<JudgedFilter, StatusName>> = {
  classes: 'unknownClass',
  sites: 'unknownSite',
  cameras: 'unknownCamera',
};

function unknownOf(RED: NodeAPI, name: JudgedFilter, { unknownIds }: WebhookState): NodeStatus | undefined {
  const ids = unknownIds[name].join(', ');
  return ids === '' ? undefined : status(RED, UNKNOWN[name], { id: cutText(ids, MOST_OF_IDS) });
}

function samePhraseOf(RED: NodeAPI, { samePhrase }: WebhookState): NodeStatus | undefined {
  return samePhrase === '' ? undefined : status(RED, 'samePhrase', { stations: samePhrase });
}

/** Alarms arrive on a separate path: an alarm since then proves that the path works. */
function cameSince(time: Date, lastAt: Date | undefined): boolean {
  return lastAt !== undefined && lastAt >= time;
}
