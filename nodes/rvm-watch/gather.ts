import type { NodeAPI } from 'node-red';
import type { StationState } from '../../lib/cloud/station-client';
import type { RvmErrorCode } from '../../lib/error';
import type { OpenInbox } from '../../lib/inbox/inboxes';
import type { Facts, InboxFacts, ServiceTrouble, StationFacts, WebhookFacts } from '../../lib/watch/findings';
import { allStations, sortedNames, type Station } from '../rvm-central-station/station';
import { incidentText } from '../rvm-inbox/inbox-log';
import { openInboxes, shownTitle } from '../rvm-inbox/inboxes';
import { webhookIds } from '../rvm-webhook-in/problem-registry';
import { findWebhook, type DeployedWebhook } from '../rvm-webhook-in/webhook-node';
import { missingRecordings } from '../support/recent-video';
import { unsetVariableError } from '../support/settings';

/** What is not known without asking. */
export interface Asked {
  figuresOf(open: OpenInbox): InboxFacts['figures'];
  standbyOf(open: OpenInbox): InboxFacts['lacksStandby'];
  selfTestOf(webhookId: string): WebhookFacts['selfTest'];
  /** False where pictures are to be made and there is no ffmpeg; undefined where nobody knows yet. */
  hasDecoder(): boolean | undefined;
}

/** The refusals that have a kind of finding of their own. */
const REFUSALS: Readonly<Partial<Record<RvmErrorCode, ServiceTrouble['kind']>>> = {
  API_KEY_REJECTED: 'key',
  LOGIN_FAILED: 'login',
  PERMISSION_DENIED: 'login',
};

/**
 * All that is known of what is deployed.
 * @param chosen short names of Central Stations; none = all
 */
export function gather(RED: NodeAPI, chosen: ReadonlySet<string>, asked: Asked): Facts {
  const isChosen = (station: string): boolean => chosen.size === 0 || chosen.has(station);
  return {
    stations: allStations(RED)
      .filter(({ key }) => isChosen(key))
      .map(stationFacts),
    webhooks: webhookIds().flatMap((id) => {
      const webhook = findWebhook(RED, id);
      const facts = webhook && webhookFacts(id, webhook, asked);
      return facts !== undefined && (chosen.size === 0 || facts.stations.some(isChosen)) ? [facts] : [];
    }),
    inboxes: openInboxes().map((open) => inboxFacts(RED, open, asked, isChosen)),
    videos: [...missingRecordings()].flatMap(([id, found]) =>
      isChosen(found.station) && isThere(RED, found.station) ? [{ id, ...found }] : [],
    ),
    hasDecoder: asked.hasDecoder(),
  };
}

function isThere(RED: NodeAPI, key: string): boolean {
  return allStations(RED).some((station) => station.key === key);
}

function stationFacts(station: Station): StationFacts {
  const { key, name, clockAhead, samePhrase } = station;
  const shared = samePhrase.as.length > 0 ? sortedNames([station, ...samePhrase.as]) : '';
  const isSaid = shared !== '' || samePhrase.isCertain;
  return { key, name, clockAhead, samePhrase: isSaid ? shared : undefined, service: serviceOf(station) };
}

function serviceOf({ serviceState, canCall, unsetVariables }: Station): StationFacts['service'] {
  if (unsetVariables !== undefined)
    return { kind: 'unusable', reason: unsetVariableError(unsetVariables).message };
  // Nobody will ever ask for one that only receives.
  if (serviceState.kind === 'idle') return canCall ? 'unknown' : 'well';
  return ofState(serviceState);
}

function ofState(state: Exclude<StationState, { kind: 'idle' }>): StationFacts['service'] {
  switch (state.kind) {
    case 'logging-in':
      return 'unknown';
    case 'connected':
      return 'well';
    case 'offline':
      return { kind: 'unreachable', since: state.since, reason: state.error.message };
    case 'refused':
      return { kind: REFUSALS[state.error.code] ?? 'unusable', reason: state.error.message };
    default:
      return state satisfies never;
  }
}

function webhookFacts(
  id: string,
  webhook: DeployedWebhook,
  asked: Asked,
): WebhookFacts & { stations: readonly string[] } {
  const health = webhook.health();
  const [first, ...others] = health.stations;
  const station = first !== undefined && others.length === 0 ? first : null;
  return { id, title: webhook.title, station, selfTest: asked.selfTestOf(id), ...health };
}

function inboxFacts(
  RED: NodeAPI,
  open: OpenInbox,
  asked: Asked,
  isChosen: (station: string) => boolean,
): InboxFacts {
  const { durable, fault = '', incident, spilled = 0 } = open.inbox.state();
  const title = shownTitle(RED, open);
  const figures = asked.figuresOf(open);
  const dead = Object.entries(figures?.dead ?? {}).filter(([station]) => isChosen(station));
  return {
    id: open.place.title,
    title,
    durable,
    fault,
    incident: incident && { text: incidentText(RED, title, incident.is), ago: incident.ago },
    spilled,
    lacksStandby: asked.standbyOf(open),
    figures: figures && { ...figures, dead: Object.fromEntries(dead) },
  };
}
