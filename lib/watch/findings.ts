/** What is known of a Central Station. */
export interface StationFacts {
  /** Its short name. */
  key: string;
  name: string;
  /** Of its service; `unknown` where it was not asked yet, but will be. */
  service: 'well' | 'unknown' | ServiceTrouble;
  /** Names of all that have one phrase, with its own; '' where it has one of its own, undefined where that cannot be said yet. */
  samePhrase: string | undefined;
  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined where no answer has told. */
  clockAhead: number | undefined;
}

export interface ServiceTrouble {
  kind: 'unreachable' | 'login' | 'key' | 'unusable';
  since?: Date;
  /** One sentence, of the error. */
  reason: string;
}

/** What is known of a *webhook in*. */
export interface WebhookFacts {
  /** Of the node. */
  id: string;
  /** By which people know it. */
  title: string;
  /** Short name of the one Central Station it serves; null where it serves several. */
  station: string | null;
  /** Why nothing can come in by it: the sentence of its listener, or else what its status shows; undefined where it can. */
  down: { reason: string } | { status: string } | undefined | 'unknown';
  /** Messages were refused for a reason that a wrong phrase has, and nobody has looked at them. */
  isUnproven: boolean;
  /** True where the last proven message came from the future; undefined until one has come. */
  isClockBehind: boolean | undefined;
  /** Hours without a proven message that are too many, and when the last one came. */
  silent: { hours: number; since: string } | undefined | 'unknown';
  /** What the last self-tests have come to; undefined where there are none. */
  selfTest: 'well' | 'unknown' | { reason: string } | undefined;
}

/** What is known of an inbox. */
export interface InboxFacts {
  /** The same at each start. */
  id: string;
  /** By which people know it. */
  title: string;
  /** Undefined until it was first opened. */
  durable: boolean | undefined;
  /** Why it cannot store. */
  fault: string;
  /** What befell its file last, in a sentence, and how many milliseconds ago; undefined where nothing did. */
  incident: { text: string; ago: number } | undefined;
  /** Messages that are kept beside it. */
  spilled: number;
  /** True where the death of the database server would lose alarms; undefined where nobody knows yet. */
  lacksStandby: boolean | undefined;
  /** What it answers when it is asked; undefined until it has. */
  figures: InboxFigures | undefined;
}

interface InboxFigures {
  /** By Central Station: dead letters that nobody has dealt with. */
  dead: Readonly<Record<string, number>>;
  /** Milliseconds that the oldest event has waited for its first delivery; absent where none waits. */
  oldestWaiting?: number;
  /** Events that wait at a path that no *webhook in* has, of whichever instance. */
  ownerless: readonly { path: string; count: number }[];
}

/** A camera of which there was no recording when it was last asked for. */
export interface VideoFacts {
  /** The same from one run to the next. */
  id: string;
  /** Short name of its Central Station. */
  station: string;
  /** As people know it, where an event has said; else its id. */
  camera: string;
  /** ISO 8601, UTC, with `Z`. */
  since: string;
}

/** All that a watch looks at. */
export interface Facts {
  stations: readonly StationFacts[];
  webhooks: readonly WebhookFacts[];
  inboxes: readonly InboxFacts[];
  videos: readonly VideoFacts[];
  /** False where pictures are to be made and there is no ffmpeg; undefined where nobody knows. */
  hasDecoder: boolean | undefined;
}

/** What is told of by kind, in the order in which a person should look at them. Of a `fault`, alarms may be lost or seen by nobody. */
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
/** What a person should see to, and what keeps no alarm out by itself. */
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

/** A finding as a flow gets it. */
export interface Finding {
  what: FindingKind;
  severity: Severity;
  /** Short name of the Central Station; null where it is not of one alone. */
  station: string | null;
  /** ISO 8601, UTC, with `Z`. */
  since: string;
  /** One sentence: what is wrong, and what to do. */
  text: string;
}

/** Something that is wrong, as it is seen at one look. Plain values only, for other instances are told of it. */
export interface Observation {
  /** The same at each look at the same thing. */
  id: string;
  what: FindingKind;
  station: string | null;
  /** ISO 8601, UTC, with `Z`; absent where only the look itself tells. */
  since?: string;
  /** Which of the sentences of its kind tells of it, and what that names. */
  sentence: string;
  values: Readonly<Record<string, string | number>>;
}

/** A sighting that stands. */
export type ActiveFinding = Observation & { since: string };

/** What one look has shown. */
export interface Evaluation<Seen extends Observation = Observation> {
  seen: readonly Seen[];
  /** Ids of what cannot be said now: what was wrong there before may be so still. */
  unsure: readonly string[];
}

const RANKS: readonly FindingKind[] = [...FAULTS, ...WARNINGS];

export function severityOf(what: FindingKind): Severity {
  return (FAULTS as readonly FindingKind[]).includes(what) ? 'fault' : 'warning';
}

export function isFault({ what }: { what: FindingKind }): boolean {
  return severityOf(what) === 'fault';
}

/** Faults first, then as long as they stand. */
export function inOrder<Each extends ActiveFinding>(findings: readonly Each[]): Each[] {
  const rank = ({ what }: Each): number => RANKS.indexOf(what);
  return [...findings].sort(
    (one, other) =>
      rank(one) - rank(other) || one.since.localeCompare(other.since) || one.id.localeCompare(other.id),
  );
}

/** True where both tell of the same things. */
export function areSameFindings(some: readonly Observation[], others: readonly Observation[]): boolean {
  const ids = new Set(some.map(({ id }) => id));
  return ids.size === others.length && others.every(({ id }) => ids.has(id));
}

/** A clock may be off this far, in milliseconds: as far as that of a sender, and half of it for the way. */
const TOLERATED_CLOCK = 30_000;
/** An event may wait this long for its first delivery, in milliseconds. */
const TOLERATED_WAIT = 60_000;
/** How long what befell an inbox is found, in milliseconds: for whoever is called by that, and not to be silent of what comes next. */
const INCIDENT_STANDS = 10 * 60_000;

/** What a fact says of one kind of finding: that it is so, that it is not, or that nobody knows. */
type Said = Omit<Observation, 'id' | 'what' | 'station'> | undefined | 'unknown';

/** Which kinds tell of the service, and how. */
const OF_SERVICE: Readonly<Record<ServiceTrouble['kind'], FindingKind>> = {
  unreachable: 'service-unreachable',
  unusable: 'service-unreachable',
  login: 'login-refused',
  key: 'key-rejected',
};

/** What is wrong, of all that is known. */
export function evaluate(facts: Facts): Evaluation {
  const looked = new Looked();
  for (const station of facts.stations) lookAtStation(looked, station);
  for (const webhook of facts.webhooks) lookAtWebhook(looked, webhook);
  for (const inbox of facts.inboxes) lookAtInbox(looked, inbox);
  for (const { id, station, camera, since } of facts.videos)
    looked.add('no-recording', id, station, { since, sentence: 'no-recording', values: { camera } });
  looked.add('no-decoder', '', null, saidIf(negated(facts.hasDecoder), 'no-decoder', {}));
  return looked;
}

/** What one look has come to so far. */
class Looked implements Evaluation {
  readonly seen: Observation[] = [];
  readonly unsure: string[] = [];

  add(what: FindingKind, subject: string, station: string | null, said: Said): void {
    const id = subject === '' ? what : `${what} ${subject}`;
    if (said === 'unknown') this.unsure.push(id);
    else if (said !== undefined) this.seen.push({ id, what, station, ...said });
  }
}

function lookAtStation(looked: Looked, station: StationFacts): void {
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

function lookAtWebhook(looked: Looked, webhook: WebhookFacts): void {
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

function lookAtInbox(looked: Looked, inbox: InboxFacts): void {
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

/** What befell its file is told also where it can store again at once. */
function saidOfStore({ durable, fault, title, incident }: InboxFacts): Said {
  if (durable !== false && incident !== undefined && incident.ago < INCIDENT_STANDS)
    return { sentence: 'inbox-incident', values: { title, text: incident.text } };
  return saidIf(negated(durable), 'store-failing', { title, reason: fault });
}

function lookAtFigures(looked: Looked, { id, title }: InboxFacts, figures: InboxFacts['figures']): void {
  if (figures === undefined) {
    // Which stations and paths are concerned, only the inbox can say: all that was wrong there may be so still.
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

/** @param isSo undefined where nobody knows */
function saidIf(isSo: boolean | undefined, sentence: string, values: Observation['values']): Said {
  if (isSo === undefined) return 'unknown';
  return isSo ? { sentence, values } : undefined;
}

function negated(isSo: boolean | undefined): boolean | undefined {
  return isSo === undefined ? undefined : !isSo;
}
