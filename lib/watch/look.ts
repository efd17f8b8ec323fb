import type { Facts, InboxFacts, ServiceTrouble, StationFacts, WebhookFacts } from './facts';
import type { FindingKind, Look, Sighting } from './finding';

/** A clock may be off this far, in milliseconds: as far as that of a sender, and half of it for the way. */
const TOLERATED_CLOCK = 30_000;
/** An event may wait this long for its first delivery, in milliseconds. */
const TOLERATED_WAIT = 60_000;
/** How long what befell an inbox is found, in milliseconds: for whoever is called by that, and not to be silent of what comes next. */
const INCIDENT_STANDS = 10 * 60_000;

/** What a fact says of one kind of finding: that it is so, that it is not, or that nobody knows. */
type Said = Omit<Sighting, 'id' | 'what' | 'station'> | undefined | 'unknown';

/** Which kinds tell of the service, and how. */
const OF_SERVICE: Readonly<Record<ServiceTrouble['kind'], FindingKind>> = {
  unreachable: 'service-unreachable',
  unusable: 'service-unreachable',
  login: 'login-refused',
  key: 'key-rejected',
};

/** What is wrong, of all that is known. */
export function lookAt(facts: Facts): Look {
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
class Looked implements Look {
  readonly seen: Sighting[] = [];
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
function saidIf(isSo: boolean | undefined, sentence: string, values: Sighting['values']): Said {
  if (isSo === undefined) return 'unknown';
  return isSo ? { sentence, values } : undefined;
}

function negated(isSo: boolean | undefined): boolean | undefined {
  return isSo === undefined ? undefined : !isSo;
}
