// Shared by server and dialogs: import nothing that a browser lacks.

import { variableIn } from '../../lib/text';

/**
 * True for a folder that is taken literally. Node-RED replaces a variable only where it is the whole value, and `~` is expanded
 * only by shells: both would create a folder of that very name.
 */
export function isUsableFolder(folder: string): boolean {
  return !/\$[{(]/.test(folder) && !folder.startsWith('~');
}

/** Prefix of the paths that the dialog of *webhook in* generates: any request below it is meant for a webhook. */
export const PATHS_BEGIN = '/remote-monitoring/';

/** Names below the prefix that are not webhooks: pages of *view link*, and the liveness and readiness probes. */
const OCCUPIED: ReadonlySet<string> = new Set(['view', 'live', 'ready']);

/** True for an entered path that must not become a webhook, because another part of this package answers there. */
export function isOccupiedPath(path: string): boolean {
  const inside = `/${path}/`.replace(/\/{2,}/g, '/');
  if (!inside.startsWith(PATHS_BEGIN)) return false;
  const [name = ''] = inside.slice(PATHS_BEGIN.length).split('/');
  return OCCUPIED.has(name);
}

/** True for a host name, or a domain suffix, that video relays may have; an IPv4 address is its own suffix. */
export function isRelayHost(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i.test(text);
}

/** Value of `url` that selects the built-in sandbox. */
export const SANDBOX = 'sandbox';

/** True for the URL of a real service. False for a variable, which may turn out to be the sandbox at run time. */
export function isRealService(url: unknown): boolean {
  const text = typeof url === 'string' ? url.trim() : '';
  return text !== '' && text !== SANDBOX && variableIn(text) === undefined;
}

/** True for a valid port number. */
export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** TLS choices of a PostgreSQL inbox, besides a TLS node. */
export const TLS = ['verify', 'off'] as const;

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];

/** True for a text that may be a PostgreSQL URL; the server checks it fully. */
export function looksLikeConnection(text: string): boolean {
  return /^postgres(?:ql)?:\/\/[^/\s]+(?:\/\S*)?$/i.test(text);
}

/**
 * Paths that a request can have: no white space, nothing that needs escaping, no query, and no segment `.` or `..`, which
 * clients resolve before they send. Matching is literal, so any other path could never match.
 */
export const POSSIBLE_PATH = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))\/?[A-Za-z0-9._~!$&'()*+,;=:@/-]+$/;

export { KEY } from '../../lib/text';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Least number of consecutive characters without a hyphen. */
const LEAST_RANDOM = 16;
/** Least number of changes between letters and digits; names chosen by people have a digit or two at an end. */
const LEAST_CHANGES = 4;

/** Properties from which the key of a Central Station is derived; all but the id may be absent or empty. */
interface StationNames {
  key?: unknown;
  name?: unknown;
  id: string;
}

/** Key of a Central Station: its own, else one derived from its name, else from its node id. */
export function stationKey({ key, name, id }: StationNames): string {
  return trimmed(key) || keyFromName(trimmed(name)) || keyFromName(id);
}

function trimmed(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
}

/** Derives a key from a name; '' where no usable character is left. */
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
 * True for a text that looks like an API key: a UUID, or a long mix of letters and digits as in no word. Used as a station key
 * it would expose a secret in each message.
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

/** Possible faults of a phrase, which a password field does not show. */
export type SecretRemark = 'edges' | 'invisible' | 'typographic' | 'weak';

const INVISIBLE = /[\p{Cc}\p{Cf}\u00a0]/u;
/** Quotes and dashes that word processors and mail programs substitute. */
const TYPOGRAPHIC = /[\u2010-\u2015\u2018-\u201f\u2026]/;
/** Least number of characters, and of different ones; below these a phrase can be guessed. */
const LEAST_LENGTH = 16;
const LEAST_DIFFERENT = 6;

/** Remarks on a phrase. It is stored exactly as typed all the same. */
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
