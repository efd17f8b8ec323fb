/** Facts about a Central Station. */
export interface StationFacts {
  /** Its short name. */
  key: string;
  name: string;
  /** State of its service; `unknown` until the first request that is still to come. */
  service: 'well' | 'unknown' | ServiceTrouble;
  /**
   * Names of all stations with the same phrase, this one included; '' where the phrase is unique, undefined where that is
   * unknown yet.
   */
  samePhrase: string | undefined;
  /** Milliseconds that the clock of the service is ahead of this machine; undefined without an answer. */
  clockAhead: number | undefined;
}

export interface ServiceTrouble {
  kind: 'unreachable' | 'login' | 'key' | 'unusable';
  since?: Date;
  /** The sentence of the error. */
  reason: string;
}

/** Facts about a *webhook in*. */
export interface WebhookFacts {
  /** Id of the node. */
  id: string;
  /** Name for people. */
  title: string;
  /** Short name of its Central Station; null where it serves several. */
  station: string | null;
  /** Why it cannot receive: the sentence of its listener, or the text of its status; undefined where it can. */
  down: { reason: string } | { status: string } | undefined | 'unknown';
  /** True after refusals for which a wrong phrase may be the reason, until a person has reviewed them. */
  isUnproven: boolean;
  /** True where the last proven message was dated in the future; undefined before the first one. */
  isClockBehind: boolean | undefined;
  /** The configured hours without a proven message have passed; `since` is the time of the last one. */
  silent: { hours: number; since: string } | undefined | 'unknown';
  /** Result of the last self-tests; undefined where there are none. */
  selfTest: 'well' | 'unknown' | { reason: string } | undefined;
}

/** Facts about an inbox. */
export interface InboxFacts {
  /** Stable over restarts. */
  id: string;
  /** Name for people. */
  title: string;
  /** Undefined until it was first opened. */
  durable: boolean | undefined;
  /** Why it cannot store. */
  fault: string;
  /** Last incident of its file, in one sentence, and its age in milliseconds; undefined without one. */
  incident: { text: string; ago: number } | undefined;
  /** Messages in the spill folder. */
  spilled: number;
  /** True where the loss of the database server would lose alarms; undefined while unknown. */
  lacksStandby: boolean | undefined;
  /** Figures that the inbox returns on request; undefined before its first answer. */
  figures: InboxFigures | undefined;
}

interface InboxFigures {
  /** Dead letters by Central Station that no person has dealt with. */
  dead: Readonly<Record<string, number>>;
  /** Milliseconds that the oldest event has waited for its first delivery; absent without a waiting event. */
  oldestWaiting?: number;
  /** Events that wait at a path without a *webhook in* on any instance. */
  ownerless: readonly { path: string; count: number }[];
}

/** A camera without a recording at the last request. */
export interface VideoFacts {
  /** Stable over restarts. */
  id: string;
  /** Short name of its Central Station. */
  station: string;
  /** Name of the camera where an event had one; else its id. */
  camera: string;
  /** ISO 8601, UTC, with `Z`. */
  since: string;
}

/** The input of a watch. */
export interface Facts {
  stations: readonly StationFacts[];
  webhooks: readonly WebhookFacts[];
  inboxes: readonly InboxFacts[];
  videos: readonly VideoFacts[];
  /** False where pictures are configured and there is no ffmpeg; undefined while unknown. */
  hasDecoder: boolean | undefined;
}

/** Kinds of findings, most urgent first. With a `fault`, alarms may be lost or seen by no person. */
export const FAULTS = [
  'store-failing',
  'listener-down',
  'spill-in-use',
  'no-standby',
  'key-rejected',
  'login-refused',
  'service-unreachable',
  'self-test-failed',
  'silent',
] as const;
/** Kinds that need a person, but do not lose alarms by themselves. */
export const WARNINGS = [
  'not-proven',
  'same-phrase',
  'no-owner',
  'backlog',
  'dead-letters',
  'no-recording',
  'no-decoder',
  'clock',
] as const;

export type FindingKind = (typeof FAULTS)[number] | (typeof WARNINGS)[number];
type Severity = 'fault' | 'warning';

/** A finding as in the message to the flow. */
export interface Finding {
  what: FindingKind;
  severity: Severity;
  /** Short name of the Central Station; null where it concerns several or none. */
  station: string | null;
  /** ISO 8601, UTC, with `Z`. */
  since: string;
  /** One sentence: what is wrong, and what to do. */
  text: string;
}

/** A fault or warning seen in one evaluation. Plain values only: it is shared with other instances. */
export interface Observation {
  /** Equal in each evaluation of the same subject. */
  id: string;
  what: FindingKind;
  station: string | null;
  /** ISO 8601, UTC, with `Z`; absent where only the evaluation itself has the time. */
  since?: string;
  /** Key of the sentence that describes it; `values` are the parameters of that sentence. */
  sentence: string;
  values: Readonly<Record<string, string | number>>;
}

/** An observation that is active. */
export type ActiveFinding = Observation & { since: string };

/** The result of one evaluation. */
export interface Evaluation<Seen extends Observation = Observation> {
  seen: readonly Seen[];
  /** Ids whose state is unknown now: a finding that was active stays so. */
  unsure: readonly string[];
}

const RANKS: readonly FindingKind[] = [...FAULTS, ...WARNINGS];

export function severityOf(what: FindingKind): Severity {
  return (FAULTS as readonly FindingKind[]).includes(what) ? 'fault' : 'warning';
}

export function isFault({ what }: { what: FindingKind }): boolean {
  return severityOf(what) === 'fault';
}

/** Sorted by kind, faults first, then oldest first. */
export function inOrder<Each extends ActiveFinding>(findings: readonly Each[]): Each[] {
  const rank = ({ what }: Each): number => RANKS.indexOf(what);
  return [...findings].sort(
    (one, other) =>
      rank(one) - rank(other) || one.since.localeCompare(other.since) || one.id.localeCompare(other.id),
  );
}

/** True where both have the same ids. */
export function areSameFindings(some: readonly Observation[], others: readonly Observation[]): boolean {
  const ids = new Set(some.map(({ id }) => id));
  return ids.size === others.length && others.every(({ id }) => ids.has(id));
}

/** Tolerated clock difference in milliseconds: the 20 s of senders, and half of that for the transfer. */
const TOLERATED_CLOCK = 30_000;
/** Milliseconds that an event may wait for its first delivery. */
const TOLERATED_WAIT = 60_000;
/**
 * Milliseconds for which an incident of an inbox stays a finding: long enough to alert a person, and then free to report the
 * next one.
 */
const INCIDENT_STANDS = 10 * 60_000;

/** State of one kind of finding: present, absent (undefined) or unknown. */
type Said = Omit<Observation, 'id' | 'what' | 'station'> | undefined | 'unknown';

/** Kind of finding for each trouble of the service. */
const OF_SERVICE: Readonly<Record<ServiceTrouble['kind'], FindingKind>> = {
  unreachable: 'service-unreachable',
  unusable: 'service-unreachable',
  login: 'login-refused',
  key: 'key-rejected',
};

/** Derives all findings from the facts. */
export function evaluate(facts: Facts): Evaluation {
  const looked = new EvaluationBuilder();
  for (const station of facts.stations) lookAtStation(looked, station);
  for (const webhook of facts.webhooks) lookAtWebhook(looked, webhook);
  for (const inbox of facts.inboxes) lookAtInbox(looked, inbox);
  for (const { id, station, camera, since } of facts.videos)
    looked.add('no-recording', id, station, { since, sentence: 'no-recording', values: { camera } });
  looked.add('no-decoder', '', null, saidIf(negated(facts.hasDecoder), 'no-decoder', {}));
  return looked;
}

/** Collects the findings of one evaluation. */
class EvaluationBuilder implements Evaluation {
  readonly seen: Observation[] = [];
  readonly unsure: string[] = [];

  add(what: FindingKind, subject: string, station: string | null, said: Said): void {
    const id = subject === '' ? what : `${what} ${subject}`;
    if (said === 'unknown') this.unsure.push(id);
    else if (said !== undefined) this.seen.push({ id, what, station, ...said });
  }
}

function lookAtStation(looked: EvaluationBuilder, station: StationFacts): void {
  const { key, name, service, samePhrase, clockAhead } = station;
  for (const what of new Set(Object.values(OF_SERVICE)))
    looked.add(what, key, key, saidOfService(what, service, name));
  const isShared = samePhrase === undefined ? undefined : samePhrase !== '';
  looked.add('same-phrase', key, key, saidIf(isShared, 'same-phrase', { stations: samePhrase ?? '' }));
  const isOff = clockAhead === undefined ? undefined : Math.abs(clockAhead) > TOLERATED_CLOCK;
  const seconds = Math.round(Math.abs(clockAhead ?? 0) / 1000);
  looked.add(
    'clock',
    key,
    key,
    saidIf(isOff, (clockAhead ?? 0) > 0 ? 'clock-behind' : 'clock-ahead', { seconds, name }),
  );
}

function saidOfService(what: FindingKind, service: StationFacts['service'], name: string): Said {
  if (service === 'unknown') return 'unknown';
  if (service === 'well' || OF_SERVICE[service.kind] !== what) return undefined;
  const { kind, since, reason } = service;
  return {
    sentence: kind === 'unusable' ? 'service-unusable' : what,
    values: { name, reason },
    ...(since && { since: since.toISOString() }),
  };
}

function lookAtWebhook(looked: EvaluationBuilder, webhook: WebhookFacts): void {
  const { id, title, station, down, isUnproven, isClockBehind, silent, selfTest } = webhook;
  const add = (what: FindingKind, said: Said): void => looked.add(what, id, station, said);
  add('listener-down', saidOfDown(down, title));
  add('not-proven', saidIf(isUnproven, 'not-proven', { title }));
  add('clock', saidIf(isClockBehind, 'clock-of-message', { title }));
  add(
    'silent',
    silent === undefined || silent === 'unknown'
      ? silent
      : { since: silent.since, sentence: 'silent', values: { title, hours: silent.hours } },
  );
  if (selfTest === 'unknown') add('self-test-failed', selfTest);
  else if (selfTest !== undefined && selfTest !== 'well')
    add('self-test-failed', { sentence: 'self-test-failed', values: { title, ...selfTest } });
}

function saidOfDown(down: WebhookFacts['down'], title: string): Said {
  if (down === undefined || down === 'unknown') return down;
  return { sentence: 'reason' in down ? 'listener-down' : 'endpoint-down', values: { title, ...down } };
}

function lookAtInbox(looked: EvaluationBuilder, inbox: InboxFacts): void {
  const { id, title, spilled, durable, lacksStandby, figures } = inbox;
  const add = (what: FindingKind, said: Said): void => looked.add(what, id, null, said);
  add('store-failing', saidOfStore(inbox));
  add(
    'spill-in-use',
    saidIf(durable === undefined ? undefined : spilled > 0, 'spill-in-use', { title, count: spilled }),
  );
  add('no-standby', saidIf(lacksStandby, 'no-standby', { title }));
  lookAtFigures(looked, inbox, figures);
}

/** An incident is reported even where the inbox can store again. */
function saidOfStore({ durable, fault, title, incident }: InboxFacts): Said {
  if (durable !== false && incident !== undefined && incident.ago < INCIDENT_STANDS)
    return { sentence: 'inbox-incident', values: { title, text: incident.text } };
  return saidIf(negated(durable), 'store-failing', { title, reason: fault });
}

function lookAtFigures(
  looked: EvaluationBuilder,
  { id, title }: InboxFacts,
  figures: InboxFacts['figures'],
): void {
  if (figures === undefined) {
    // Only the inbox knows these figures: findings that were active stay so.
    for (const what of ['backlog', 'dead-letters', 'no-owner']) looked.unsure.push(`${what} ${id}`);
    return;
  }
  const { oldestWaiting = 0, dead, ownerless } = figures;
  const minutes = Math.floor(oldestWaiting / 60_000);
  looked.add('backlog', id, null, saidIf(oldestWaiting > TOLERATED_WAIT, 'backlog', { title, minutes }));
  const stations = Object.keys(dead).filter((station) => (dead[station] ?? 0) > 0);
  const count = stations.reduce((sum, station) => sum + (dead[station] ?? 0), 0);
  const lone = stations.length === 1 ? (stations[0] ?? null) : null;
  looked.add('dead-letters', id, lone, saidIf(count > 0, 'dead-letters', { title, count }));
  const waiting = ownerless.reduce((sum, each) => sum + each.count, 0);
  const paths = ownerless.map(({ path }) => path).join(', ');
  looked.add('no-owner', id, null, saidIf(waiting > 0, 'no-owner', { title, count: waiting, paths }));
}

/** @param isSo undefined while unknown */
function saidIf(isSo: boolean | undefined, sentence: string, values: Observation['values']): Said {
  if (isSo === undefined) return 'unknown';
  return isSo ? { sentence, values } : undefined;
}

function negated(isSo: boolean | undefined): boolean | undefined {
  return isSo === undefined ? undefined : !isSo;
}
