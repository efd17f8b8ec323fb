import type { NodeAPI } from 'node-red';
import type { StationState } from '../../lib/cloud/station-client';
import { withTimeout } from '../../lib/concurrency/timers';
import type { RvmErrorCode } from '../../lib/error';
import type { InboxFigures } from '../../lib/inbox/model';
import type { OpenInbox } from '../../lib/inbox/inboxes';
import type { Facts, InboxFacts, ServiceTrouble, StationFacts, WebhookFacts } from '../../lib/watch/findings';
import { addressOfKey } from '../../lib/webhook/endpoint';
import { allStations, sortedNames, type Station } from '../rvm-central-station/station';
import { newDecoder } from '../rvm-cloud/cloud-video';
import { incidentText } from '../rvm-inbox/inbox-log';
import { openInboxes, shownTitle } from '../rvm-inbox/inboxes';
import { webhookIds } from '../rvm-webhook-in/problem-registry';
import { type DeployedWebhook, findWebhook } from '../rvm-webhook-in/webhook-node';
import { missingRecordings } from '../support/recent-video';
import { unsetVariableError } from '../support/settings';

/** Facts that must be queried; cached by their sources. */
interface QueriedFacts {
  figuresOf(open: OpenInbox): InboxFacts['figures'];
  standbyOf(open: OpenInbox): InboxFacts['lacksStandby'];
  selfTestOf(webhookId: string): WebhookFacts['selfTest'];
  /** False where pictures are needed and ffmpeg is missing; undefined until checked. */
  hasDecoder(): boolean | undefined;
}

/** Refusals with a finding kind of their own; others are `unusable`. */
const REFUSALS: Readonly<Partial<Record<RvmErrorCode, ServiceTrouble['kind']>>> = {
  API_KEY_REJECTED: 'key',
  LOGIN_FAILED: 'login',
  PERMISSION_DENIED: 'login',
};

/**
 * All known facts of the deployed nodes.
 * @param chosen keys of Central Stations; empty = all
 */
export function gather(RED: NodeAPI, chosen: ReadonlySet<string>, queried: QueriedFacts): Facts {
  const isChosen = (station: string): boolean => chosen.size === 0 || chosen.has(station);
  return {
    stations: allStations(RED)
      .filter(({ key }) => isChosen(key))
      .map(stationFacts),
    webhooks: webhookIds().flatMap((id) => {
      const webhook = findWebhook(RED, id);
      const facts = webhook && webhookFacts(id, webhook, queried);
      return facts !== undefined && (chosen.size === 0 || facts.stations.some(isChosen)) ? [facts] : [];
    }),
    inboxes: openInboxes().map((open) => inboxFacts(RED, open, queried, isChosen)),
    videos: [...missingRecordings()].flatMap(([id, found]) =>
      isChosen(found.station) && isThere(RED, found.station) ? [{ id, ...found }] : [],
    ),
    hasDecoder: queried.hasDecoder(),
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
  // A station that only receives never calls its service, so `unknown` would never end.
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
  queried: QueriedFacts,
): WebhookFacts & { stations: readonly string[] } {
  const health = webhook.health();
  const [first, ...others] = health.stations;
  const station = first !== undefined && others.length === 0 ? first : null;
  return { id, title: webhook.title, station, selfTest: queried.selfTestOf(id), ...health };
}

function inboxFacts(
  RED: NodeAPI,
  open: OpenInbox,
  queried: QueriedFacts,
  isChosen: (station: string) => boolean,
): InboxFacts {
  const { durable, fault = '', incident, spilled = 0 } = open.inbox.state();
  const title = shownTitle(RED, open);
  const figures = queried.figuresOf(open);
  const dead = Object.entries(figures?.dead ?? {}).filter(([station]) => isChosen(station));
  return {
    id: open.place.title,
    title,
    durable,
    fault,
    incident: incident && { text: incidentText(RED, title, incident.is), ago: incident.ago },
    spilled,
    lacksStandby: queried.standbyOf(open),
    figures: figures && { ...figures, dead: Object.fromEntries(dead) },
  };
}

/** Milliseconds between two queries, and timeout of one. */
const ASK_EVERY = 15_000;
const TIMEOUT_MS = 5000;
/** Milliseconds that an event waits at most where another instance has its path; ownerless after that. */
const OWNED_WAIT = 60_000;

/** Last answers of the inboxes, by inbox id. */
export class InboxReplies {
  readonly #answers = new Map<string, InboxFigures>();
  #askedAt = -Infinity;
  #isAsking = false;

  /** Queries all open inboxes, if the interval has passed. The answer of an inbox that fails is dropped. */
  askInTime(): void {
    if (this.#isAsking || performance.now() - this.#askedAt < ASK_EVERY) return;
    this.#isAsking = true;
    void this.#askAll().finally(() => (this.#isAsking = false));
  }

  figuresOf({ id, inbox, place }: OpenInbox): InboxFacts['figures'] {
    const answer = this.#answers.get(id);
    if (answer === undefined) return undefined;
    const { dead, oldest } = answer;
    const isShared = place.folder === undefined;
    const ownerless = inbox
      .abandoned()
      .filter((endpoint) => !isShared || (oldest[endpoint] ?? 0) > OWNED_WAIT)
      .map((endpoint) => ({ path: addressOfKey(endpoint).path, count: inbox.waiting(endpoint) }));
    const ages = Object.values(oldest);
    return { dead, ownerless, ...(ages.length > 0 && { oldestWaiting: Math.max(...ages) }) };
  }

  /**
   * True where a standby is missing: with a single server none is expected; while a synchronous standby is away, nothing can be
   * stored.
   */
  standbyOf({ id, place }: OpenInbox): boolean | undefined {
    if (place.folder !== undefined) return false;
    const standby = this.#answers.get(id)?.standby;
    if (standby === undefined) return undefined;
    return standby === 'away' || (standby === 'none' && (place.servers ?? 1) > 1);
  }

  async #askAll(): Promise<void> {
    this.#askedAt = performance.now();
    const open = openInboxes();
    const ids = new Set(open.map(({ id }) => id));
    for (const id of this.#answers.keys()) if (!ids.has(id)) this.#answers.delete(id);
    await Promise.all(open.map((each) => this.#ask(each)));
  }

  async #ask({ id, inbox }: OpenInbox): Promise<void> {
    const answer = await withTimeout(inbox.figures(), TIMEOUT_MS).catch(() => undefined);
    if (answer === undefined) this.#answers.delete(id);
    else this.#answers.set(id, answer);
  }
}

/** Node types that make pictures of video. */
const NEED_IT: readonly string[] = ['rvm-get-picture', 'rvm-view'];
/** Milliseconds between two checks. */
const LOOK_EVERY = 60_000;

/** Checks for ffmpeg, where pictures are needed. */
export class DecoderLook {
  #isThere: boolean | undefined;
  #lookedAt = -Infinity;

  constructor(private readonly RED: NodeAPI) {}

  /** Undefined until checked; true where no decoder is needed. */
  get isThere(): boolean | undefined {
    return this.#isNeeded() ? this.#isThere : true;
  }

  lookInTime(): void {
    if (performance.now() - this.#lookedAt < LOOK_EVERY || !this.#isNeeded()) return;
    this.#lookedAt = performance.now();
    // A failure of the check itself shows with the first picture.
    void this.#look().catch(() => undefined);
  }

  #isNeeded(): boolean {
    let isNeeded = false;
    this.RED.nodes.eachNode(({ id, type }) => {
      isNeeded ||= NEED_IT.includes(type) && Boolean(this.RED.nodes.getNode(id));
    });
    return isNeeded;
  }

  async #look(): Promise<void> {
    const decoder = newDecoder(this.RED);
    this.#isThere = await decoder.available();
    await decoder.close();
  }
}
