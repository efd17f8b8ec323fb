import type { NodeAPI, NodeStatus } from 'node-red';
import { cutText } from '../../lib/inbox/history';
import type { Inbox } from '../../lib/inbox/inbox';
import { JUDGED, type JudgedFilter, type UnknownIds } from '../../lib/message/event-filter';
import type { WebhookFacts } from '../../lib/watch/findings';
import type { UnseenProblems } from '../../lib/webhook/endpoint-health';
import { missingStatus } from '../rvm-central-station/station';
import type { InboxNode } from '../rvm-inbox/inboxes';
import { hasSettler } from '../support/flows';
import { type Properties, textOf, type UnsetVariables } from '../support/settings';
import {
  jointStatus,
  lastAlarmStatus,
  momentOf,
  shownText,
  status,
  type StatusName,
  unsetStatus,
} from '../support/status';
import type { WebhookServer } from '../support/webhook-server';
import type { ProvenMessages } from './message-checks';
import type { ServedStations } from './served-stations';
import { termsOf } from './settings';

/** What a *webhook in* consists of, as far as its state is to be seen there. */
interface StateSources {
  properties: Properties;
  fault: StatusName | undefined;
  unsetVariables: UnsetVariables | undefined;
  server: Pick<WebhookServer, 'status'>;
  stations: ServedStations;
  inboxNode: InboxNode | undefined;
  inbox: Pick<Inbox, 'state' | 'waiting'>;
  endpointId: string | undefined;
  samePhrase: { readonly names: string };
  filters: { readonly unknown: UnknownIds };
  problems: UnseenProblems;
  outputs: { readonly lastAt: Date | undefined };
}

/** How it is at the moment. */
export function currentState(RED: NodeAPI, sources: StateSources): WebhookState {
  const { properties, server, inboxNode, inbox, endpointId, problems } = sources;
  const stations = sources.stations.all;
  const isSettled = termsOf(properties).handledWhen === 'settled';
  return {
    fault: sources.fault,
    unsetVariables: sources.unsetVariables,
    serverStatus: server.status(),
    hasStations: stations.length > 0,
    stationStatus: stations.map((station) => missingStatus(RED, station)).find((lack) => lack !== undefined),
    mayJudge: sources.stations.mayJudge(),
    isDurable: inbox.state().durable !== false,
    isInboxRefused: inboxNode?.isRefused() ?? textOf(properties, 'inbox') !== '',
    lacksSettler: sources.stations.areRunning && isSettled && !hasSettler(),
    samePhrase: sources.samePhrase.names,
    unknownIds: sources.filters.unknown,
    isUnproven: problems.isUnproven,
    unseenProblems: problems.count,
    backlog: endpointId === undefined ? 0 : inbox.waiting(endpointId),
    offlineSince: stations.map((station) => station.offlineSince).find((since) => since !== undefined),
    lastAt: sources.outputs.lastAt,
    isSandbox: stations.some((station) => station.isSandbox),
  };
}

/** What a *webhook in* says of itself to who looks after all of it. */
export interface WebhookHealth extends Pick<
  WebhookFacts,
  'down' | 'isUnproven' | 'isClockBehind' | 'silent'
> {
  /** Short names of the Central Stations that it serves. */
  stations: readonly string[];
}

export function webhookHealth(
  RED: NodeAPI,
  state: WebhookState,
  stations: Pick<ServedStations, 'all' | 'areRunning'>,
  server: WebhookServer,
  { silentSince, silentAfter: hours, isClockBehind }: ProvenMessages,
): WebhookHealth {
  return {
    stations: stations.all.map(({ key }) => key),
    down: downOf(RED, state, stations.areRunning, server),
    isUnproven: state.isUnproven,
    isClockBehind,
    silent: silentSince instanceof Date ? { hours, since: silentSince.toISOString() } : silentSince,
  };
}

function downOf(
  RED: NodeAPI,
  state: WebhookState,
  areRunning: boolean,
  server: WebhookServer,
): WebhookHealth['down'] {
  const listenerFault = server.fault?.();
  if (listenerFault !== undefined) return { reason: listenerFault };
  const { fault, unsetVariables, serverStatus, hasStations, mayJudge } = state;
  const shown = { status: shownText(RED, webhookStatus(RED, state)) };
  // A property that is wrong may keep nothing out.
  const isOut = fault !== undefined && fault !== 'wrongSetting';
  if (isOut || unsetVariables !== undefined || serverStatus !== undefined || !hasStations) return shown;
  if (!areRunning || server.loopbackOrigin() === undefined) return 'unknown';
  return mayJudge ? undefined : shown;
}

/** Characters: it stands below a node. */
const MOST_OF_IDS = 60;

/** What the status of a *webhook in* tells of, as it is at the moment. */
export interface WebhookState {
  /** Why it takes no alarms at all. */
  fault: StatusName | undefined;
  unsetVariables: UnsetVariables | undefined;
  /** What its server shows while nothing can come in by it. */
  serverStatus: NodeStatus | undefined;
  hasStations: boolean;
  /** What the first of its stations shows that cannot judge a message. */
  stationStatus: NodeStatus | undefined;
  /** One of its stations can judge a message, or may yet. */
  mayJudge: boolean;
  /** What its inbox takes is safe when it is answered. */
  isDurable: boolean;
  /** The inbox node that is chosen has settings that do not count, or is not there. */
  isInboxRefused: boolean;
  /** Its events wait to be settled, and no node does. */
  lacksSettler: boolean;
  /** Names of its stations that have one phrase with another, and of those others; '' where there are none. */
  samePhrase: string;
  /** What of its filters nobody knows. */
  unknownIds: UnknownIds;
  /** Messages were refused for a reason that a wrong phrase has, and nobody has seen it. */
  isUnproven: boolean;
  /** Problems that no flow has got, and nobody has seen. */
  unseenProblems: number;
  /** Events that wait for their first delivery. */
  backlog: number;
  /** Since when the service of one of its stations is out of reach. */
  offlineSince: Date | undefined;
  /** When the last event came. */
  lastAt: Date | undefined;
  isSandbox: boolean;
}

/**
 * What a *webhook in* shows: the first of what keeps alarms out, or from the flow; else all that a person has to look at; else
 * the last alarm.
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

/** That two stations have one phrase keeps alarms out as well. */
function withSamePhrase(RED: NodeAPI, state: WebhookState, first: NodeStatus): NodeStatus {
  const second = samePhraseOf(RED, state);
  return (second && jointStatus(RED, [first, second])) ?? first;
}

/** None hides another. */
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

/** Alarms have a way of their own: where one has come since, that way is well. */
function cameSince(time: Date, lastAt: Date | undefined): boolean {
  return lastAt !== undefined && lastAt >= time;
}
