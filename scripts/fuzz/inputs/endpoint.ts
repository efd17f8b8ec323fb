import type { Registration } from '../oracle/proof';
import type { Random } from '../random';

/** Phrases as people choose them, and as they come from a generator (C-27, C-31, C-32). */
const PHRASES: readonly string[] = [
  'correct horse battery staple',
  ' leading and trailing blanks ',
  'it’s "quoted" \\ and back\\slashed',
  'Zürich 東京 🚨',
  'c2VjcmV0IHBocmFzZSB0aGF0IGlzIGJhc2U2NA==',
  'a phrase that is longer than the sixty-four bytes of a block of the hash function, which counts',
  'tab\there',
];
/** That prove nothing. */
const NO_PHRASES: readonly string[] = ['', '', '   ', 'null', 'undefined', 'ends in NUL\0', '${UNSET}'];

/** Of one endpoint: one to three stations, each with its own phrases. */
export function registrationsOf(random: Random): Registration[] {
  return Array.from({ length: 1 + random.below(3) }, (_, place) => ({
    scheme: random.chance(0.5) ? 'http' : 'https',
    secret: `${random.pick(PHRASES)}${place}`,
    previousSecret: random.chance(0.5) ? `${random.pick(PHRASES)}-${place}` : random.pick(NO_PHRASES),
    acceptBareSignature: random.chance(0.2),
  }));
}

/** A phrase that somebody could try: mostly one of a station, or nearly so. */
export function phraseFor(random: Random, registrations: readonly Registration[]): string {
  const { secret, previousSecret } = random.pick(registrations);
  const kind = random.below(20);
  if (kind < 12) return secret;
  if (kind < 16) return previousSecret;
  if (kind === 16) return random.pick(NO_PHRASES);
  if (kind === 17) return `${secret} `;
  if (kind === 18) return secret.toUpperCase();
  return `${secret.slice(0, -1)}7`;
}
