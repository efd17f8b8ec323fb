export { KEY } from '../../lib/text';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Characters in a row, without a hyphen. */
const LEAST_RANDOM = 16;
/** From letters to digits and back; in names that people give a digit or two stand at an end. */
const LEAST_CHANGES = 4;

/** What the key of a Central Station is made of, as a config node has it: each may be absent, or empty, but for the id. */
export interface StationNames {
  key?: unknown;
  name?: unknown;
  id: string;
}

/** The key of a Central Station: its own, else one made from its name, else from the id of its node. */
export function stationKey({ key, name, id }: StationNames): string {
  return trimmed(key) || keyFromName(trimmed(name)) || keyFromName(id);
}

function trimmed(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
}

/** A key made from a name; empty if nothing is left of it. */
export function keyFromName(name: string): string {
  return name
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32);
}

/**
 * True for what looks like an API key: a UUID, or many letters and digits as no word has them. In the place of a station key it
 * would be a secret that stands in each message.
 */
export function looksLikeApiKey(text: string): boolean {
  const key = text.trim();
  return UUID.test(key) || key.split('-').some(looksRandom);
}

function looksRandom(run: string): boolean {
  if (run.length < LEAST_RANDOM) return false;
  if (/^[0-9a-f]*\d[0-9a-f]*$/i.test(run)) return true;
  return (run.match(/[a-z](?=\d)|\d(?=[a-z])/gi)?.length ?? 0) >= LEAST_CHANGES;
}
