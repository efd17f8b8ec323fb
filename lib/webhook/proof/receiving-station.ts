import { variableIn, isWellFormed } from '../../text';

/** The settings of a Central Station that the receiver needs. */
export interface ReceivingStation {
  /** Short unique key, `[a-z0-9-]{1,32}`; identifies the station in messages and in the inbox. */
  key: string;
  name: string;
  /** Scheme of the endpoint as registered with the service. It decides which proof counts, and is never guessed. */
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

/** Texts that JavaScript makes of an absent value; no person chooses them as a phrase. */
const ABSENT_VALUES: readonly string[] = ['null', 'undefined'];

/**
 * True where a phrase can prove anything. An empty or blank one cannot (an HMAC works with an empty key), nor the name of an
 * unset variable, nor a text with NUL (HMAC ignores trailing NUL bytes of a key) or with half of a surrogate pair (as bytes all
 * such halves are alike).
 */
export function isUsablePhrase(phrase: string): boolean {
  if (phrase.trim() === '' || ABSENT_VALUES.includes(phrase)) return false;
  return !phrase.includes('\0') && isWellFormed(phrase) && variableIn(phrase) === undefined;
}

/** The stations of an endpoint whose phrase allows the receiver to judge. */
export interface ReadyStations {
  /** Stations with a usable phrase. Empty = no message can be judged yet. */
  ready: readonly ReceivingStation[];
  /** True where another station of the endpoint cannot judge: a message that the ready ones refuse may belong to it. */
  hasUnready: boolean;
}

/**
 * Selects the stations that can judge. Stations of one endpoint with the same phrase cannot be distinguished, so none of them
 * judges. A previous phrase that another station has too is ignored. Called for each message, so phrases are counted, not
 * compared pair by pair.
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

/** Number of stations with a phrase, by phrase. */
function holdersOf(phrasesOfEach: readonly (readonly string[])[]): Map<string, number> {
  const holders = new Map<string, number>();
  for (const phrases of phrasesOfEach)
    for (const phrase of new Set(phrases)) holders.set(phrase, (holders.get(phrase) ?? 0) + 1);
  return holders;
}

/** The station of a message that names none: the only one; undefined where there are several. */
export function onlyStation<Kind>(stations: readonly Kind[] | undefined): Kind | undefined {
  return stations?.length === 1 ? stations[0] : undefined;
}

/** True where the stations have a phrase, current or previous, in common. */
export function sharePhrase(one: ReceivingStation, other: ReceivingStation): boolean {
  return phrasesOf(one).some((phrase) => phrasesOf(other).includes(phrase));
}

function phrasesOf(station: ReceivingStation): string[] {
  return [station.secret, station.previousSecret].filter(isUsablePhrase);
}
