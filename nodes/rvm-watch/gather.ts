import type { NodeAPI } from 'node-red';
import type { StationState } from '../../lib/cloud/station-client';
import { withTimeout } from '../../lib/concurrency/timers';
import { RvmError, type RvmErrorCode } from '../../lib/error';
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
import { faultOf } from '../support/admin-routes';
import { missingRecordings } from '../support/recent-video';
import { unsetVariableError } from '../support/settings';

/** What knows the facts that must be queried. */
interface Sources {
  inboxes: InboxReplies;
  selfTests: ScheduledSelfTests;
  decoder: DecoderLook;
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
export function gather(RED: NodeAPI, chosen: ReadonlySet<string>, sources: Sources): Facts {
  const isChosen = (station: string): boolean => chosen.size === 0 || chosen.has(station);
  return {
    stations: allStations(RED)
      .filter(({ key }) => isChosen(key))
      .map(stationFacts),
    webhooks: webhookIds().flatMap((id) => {
      const webhook = findWebhook(RED, id);
      const facts = webhook && webhookFacts(id, webhook, sources);
      return facts !== undefined && (chosen.size === 0 || facts.stations.some(isChosen)) ? [facts] : [];
    }),
    inboxes: openInboxes().map((open) => inboxFacts(RED, open, sources, isChosen)),
    videos: [...missingRecordings()].flatMap(([id, found]) =>
      isChosen(found.station) && isThere(RED, found.station) ? [{ id, ...found }] : [],
    ),
    hasDecoder: sources.decoder.isThere,
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
  { selfTests }: Sources,
): WebhookFacts & { stations: readonly string[] } {
  const health = webhook.health();
  const [first, ...others] = health.stations;
  const station = first !== undefined && others.length === 0 ? first : null;
  return { id, title: webhook.title, station, selfTest: selfTests.resultOf(id), ...health };
}

function inboxFacts(
  RED: NodeAPI,
  open: OpenInbox,
  { inboxes }: Sources,
  isChosen: (station: string) => boolean,
): InboxFacts {
  const { durable, fault = '', incident, spilled = 0 } = open.inbox.state();
  const title = shownTitle(RED, open);
  const figures = inboxes.figuresOf(open);
  const dead = Object.entries(figures?.dead ?? {}).filter(([station]) => isChosen(station));
  return {
    id: open.place.title,
    title,
    durable,
    fault,
    incident: incident && { text: incidentText(RED, title, incident.is), ago: incident.ago },
    spilled,
    lacksStandby: inboxes.standbyOf(open),
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

/** Full namespace: the texts belong to *webhook in*. */
const FAULT = '@rvm/node-red-remote-monitoring/rvm-webhook-in:rvm-webhook-in.test.fault';
/**
 * Milliseconds. After a start other work comes first. A failed test is repeated before it is reported, and then until it
 * succeeds.
 */
const FIRST = 5000;
const AGAIN = 20_000;
const LONGEST_WAIT = 60_000;
/** Failures in a row before a report: a single one may be transient. */
const FAILURES = 2;

interface Tested {
  /** Value of `performance.now()`. */
  nextAt: number;
  failures: number;
  result: Exclude<WebhookFacts['selfTest'], undefined>;
}

/** Periodic self-tests of all *webhook in* nodes, one after the other. */
export class ScheduledSelfTests {
  readonly #tested = new Map<string, Tested>();
  #isTesting = false;

  /** @param every interval in milliseconds; 0 = never */
  constructor(
    private readonly RED: NodeAPI,
    private readonly every: number,
  ) {}

  resultOf(webhookId: string): WebhookFacts['selfTest'] {
    return this.every === 0 ? undefined : (this.#tested.get(webhookId)?.result ?? 'unknown');
  }

  /** Runs the tests that are due. */
  testInTime(): void {
    if (this.every === 0 || this.#isTesting) return;
    this.#isTesting = true;
    void this.#testAll().finally(() => (this.#isTesting = false));
  }

  async #testAll(): Promise<void> {
    const ids = webhookIds();
    for (const id of this.#tested.keys()) if (!ids.includes(id)) this.#tested.delete(id);
    for (const id of ids) {
      const tested = this.#tested.get(id) ?? this.#begun(id);
      if (performance.now() >= tested.nextAt) await this.#test(id, tested);
    }
  }

  #begun(id: string): Tested {
    const tested: Tested = { nextAt: performance.now() + FIRST, failures: 0, result: 'unknown' };
    this.#tested.set(id, tested);
    return tested;
  }

  async #test(id: string, tested: Tested): Promise<void> {
    const reason = await this.#failureOf(id);
    tested.failures = reason === undefined ? 0 : tested.failures + 1;
    if (reason === undefined) tested.result = 'well';
    else if (tested.failures >= FAILURES) tested.result = { reason };
    const pause = [this.every, AGAIN, LONGEST_WAIT][Math.min(tested.failures, FAILURES)] ?? LONGEST_WAIT;
    tested.nextAt = performance.now() + Math.min(this.every, pause);
  }

  /** Undefined where the message has arrived. */
  async #failureOf(id: string): Promise<string | undefined> {
    try {
      const failed = (await findWebhook(this.RED, id)?.selfTest(true))?.failed;
      return failed && this.RED._(`${FAULT}.${failed.fault}`, { seen: failed.seen });
    } catch (error) {
      return error instanceof RvmError ? error.message : faultOf(error);
    }
  }
}
