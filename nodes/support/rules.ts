// Server and dialogs share this file: it imports nothing that a browser lacks.

import { variableIn } from '../../lib/text';

/**
 * True for a folder that means what it says. Node-RED replaces a variable that is the whole value and no other, and `~` is
 * a habit of shells: both would make a folder of that very name.
 */
export function isUsableFolder(folder: string): boolean {
  return !/\$[{(]/.test(folder) && !folder.startsWith('~');
}

/** Where the dialog of *webhook in* begins the paths that it makes: what is posted there is meant for one. */
export const PATHS_BEGIN = '/remote-monitoring/';

/** Names below it that are no webhooks: pages of *view link*, and what a monitor asks whether this Node-RED lives and works. */
const KEPT: ReadonlySet<string> = new Set(['view', 'live', 'ready']);

/** True for a path, as it is entered in a node, that must not become a webhook, for something else of this package answers there. */
export function isKeptPath(path: string): boolean {
  const inside = `/${path}/`.replace(/\/{2,}/g, '/');
  if (!inside.startsWith(PATHS_BEGIN)) return false;
  const [name = ''] = inside.slice(PATHS_BEGIN.length).split('/');
  return KEPT.has(name);
}

/**
 * True for the name of a host, or the end of one from a dot on, that video relays may have; an IPv4 address is its own end.
 */
export function isRelayHost(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i.test(text);
}

/** The word in `url` that stands for the built-in sandbox. */
export const SANDBOX = 'sandbox';

/** True for the address of a real service. Of a variable nobody can say before it runs: it may stand for the sandbox. */
export function isRealService(url: unknown): boolean {
  const text = typeof url === 'string' ? url.trim() : '';
  return text !== '' && text !== SANDBOX && variableIn(text) === undefined;
}

/** True for the number of a port that can be opened. */
export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** What a PostgreSQL inbox may be encrypted by, beside a TLS node. */
export const TLS = ['verify', 'off'] as const;

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];

/** True for what may be an address of PostgreSQL; the server looks closer. */
export function looksLikeConnection(text: string): boolean {
  return /^postgres(?:ql)?:\/\/[^/\s]+(?:\/\S*)?$/i.test(text);
}

/**
 * The paths that a request can have: no white space, nothing that would have to be escaped, no query, and no segment
 * `.` or `..`, which senders resolve before they send. Matching is literal, so any other path could never be met.
 */
export const POSSIBLE_PATH = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))\/?[A-Za-z0-9._~!$&'()*+,;=:@/-]+$/;

export { KEY } from '../../lib/text';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Characters in a row, without a hyphen. */
const LEAST_RANDOM = 16;
/** From letters to digits and back; in names that people give a digit or two stand at an end. */
const LEAST_CHANGES = 4;

/** What the key of a Central Station is made of, as a config node has it: each may be absent, or empty, but for the id. */
interface StationNames {
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

/** What may be wrong with a phrase, which nobody can see in a password field. */
export type SecretRemark = 'edges' | 'invisible' | 'typographic' | 'weak';

const INVISIBLE = /[\p{Cc}\p{Cf}\u00a0]/u;
/** Quotes and dashes that word processors and mail programs put in the place of those typed. */
const TYPOGRAPHIC = /[\u2010-\u2015\u2018-\u201f\u2026]/;
/** Characters: of fewer, or of fewer different ones, a phrase can be guessed. */
const LEAST_LENGTH = 16;
const LEAST_DIFFERENT = 6;

/** What to tell of a phrase. It is kept exactly as typed all the same. */
export function remarksOn(secret: string): SecretRemark[] {
  if (secret === '') return [];
  const found: [SecretRemark, boolean][] = [
    ['edges', secret !== secret.trim()],
    ['invisible', INVISIBLE.test(secret)],
    ['typographic', TYPOGRAPHIC.test(secret)],
    ['weak', secret.length < LEAST_LENGTH || new Set(secret).size < LEAST_DIFFERENT],
  ];
  return found.filter(([, isSo]) => isSo).map(([remark]) => remark);
}
