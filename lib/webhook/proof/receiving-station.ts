import { variableIn, isWellFormed } from '../../text';

/** What the receiver needs to know of a Central Station. */
export interface ReceivingStation {
  /** Short unique key, `[a-z0-9-]{1,32}`; identifies the station in messages and in the inbox. */
  key: string;
  name: string;
  /** Scheme of the endpoint as registered with the service: it decides which proof counts. Never guessed. */
  scheme: 'https' | 'http';
  /** Shared Secret Phrase; '' = none. Taken as typed: no trimming, no normalisation. */
  secret: string;
  /** The phrase before the last change, accepted until emptied; '' = none. */
  previousSecret: string;
  /** Agent User of the station; '' = not checked. */
  agentUserId: string;
  /** Accept a signature without the scheme word `HMAC-SHA256`. */
  acceptBareSignature: boolean;
  /** True for a station of the sandbox. */
  sandbox: boolean;
}

/** Texts that JavaScript makes of an absent value; no phrase anybody chose. */
const ABSENT_VALUES: readonly string[] = ['null', 'undefined'];

/**
 * True where a phrase can prove anything. An empty or blank one cannot (an HMAC works with an empty key),
 * neither can the name of an unset variable, nor a text with NUL (HMAC ignores trailing NUL bytes of a key) or with half of a
 * surrogate pair (as bytes all halves are alike).
 */
export function isUsablePhrase(phrase: string): boolean {
  if (phrase.trim() === '' || ABSENT_VALUES.includes(phrase)) return false;
  return !phrase.includes('\0') && isWellFormed(phrase) && variableIn(phrase) === undefined;
}

/** The stations of an endpoint, told apart by whether their phrase lets the receiver judge. */
export interface ReadyStations {
  /** Stations with a usable phrase. Empty = nothing can be judged yet. */
  ready: readonly ReceivingStation[];
  /** True while another station of the endpoint cannot judge: what the ready ones refuse may be its message. */
  hasUnready: boolean;
}

/**
 * Sorts out which stations can judge a message. Stations of one endpoint that share their phrase cannot be told apart,
 * so none of them judges. A previous phrase that another one has too is set aside, and the rest goes on. Asked for with each
 * message, so that the phrases are counted, not compared pair by pair.
 */
export function readyStations(stations: readonly ReceivingStation[] | undefined): ReadyStations {
  const listed = stations ?? [];
  const usable = listed.filter((station) => isUsablePhrase(station.secret));
  const holders = holdersOf(usable.map(({ secret }) => [secret]));
  const holdersOfAny = holdersOf(usable.map(phrasesOf));
  const ready = usable
    .filter(({ secret }) => holders.get(secret) === 1)
    .map((station) =>
      (holdersOfAny.get(station.previousSecret) ?? 0) > 1 ? { ...station, previousSecret: '' } : station,
    );
  return { ready, hasUnready: ready.length < listed.length };
}

/** Why stations of an endpoint cannot judge a message, for the log. */
export function unreadyReason(stations: readonly ReceivingStation[] | undefined): string {
  const usable = (stations ?? []).filter((station) => isUsablePhrase(station.secret));
  const holders = holdersOf(usable.map(({ secret }) => [secret]));
  const names = usable.filter(({ secret }) => holders.get(secret) !== 1).map(({ name }) => `"${name}"`);
  return names.length > 0
    ? `its Central Stations ${names.join(', ')} have the same Shared Secret Phrase: give each its own`
    : 'a Central Station of its webhook node cannot judge yet: see the status of the node';
}

/** How many stations have a phrase, by phrase. */
function holdersOf(phrasesOfEach: readonly (readonly string[])[]): Map<string, number> {
  const holders = new Map<string, number>();
  for (const phrases of phrasesOfEach)
    for (const phrase of new Set(phrases)) holders.set(phrase, (holders.get(phrase) ?? 0) + 1);
  return holders;
}

/** The station that is meant where nothing says which: the only one. Of several nobody can say. */
export function onlyStation<Kind>(stations: readonly Kind[] | undefined): Kind | undefined {
  return stations?.length === 1 ? stations[0] : undefined;
}

/** True where a phrase of one, current or previous, is one of the other's too. */
export function sharePhrase(one: ReceivingStation, other: ReceivingStation): boolean {
  return phrasesOf(one).some((phrase) => phrasesOf(other).includes(phrase));
}

function phrasesOf(station: ReceivingStation): string[] {
  return [station.secret, station.previousSecret].filter(isUsablePhrase);
}
