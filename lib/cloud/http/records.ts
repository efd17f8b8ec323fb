import { isRecord, type JsonRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import { type Answer, firstField, firstText } from './answer';
import type { Origins, TrustedUrl } from './origins';
import type { RequestBody } from './transport';

/** One page of a collection. */
export interface Page {
  records: JsonRecord[];
  /** Address of the next page as sent; undefined on the last one. */
  next: string | undefined;
}

/**
 * Reads a page of a collection whose envelope the specification leaves open: a bare array, an array under its own or any other
 * name, `_embedded`, wrapped in `result` or `data`, or a map from id to record. A missing array is an empty list.
 * @param names the collection's own names, such as `devices`
 */
export function readPage(body: unknown, names: readonly string[]): Page {
  return {
    records: elements(body, names).filter(isRecord),
    next: isRecord(body) ? nextLink(body) : undefined,
  };
}

/** One page of a collection: its records, and their base address. */
export interface FetchedPage {
  readonly records: readonly JsonRecord[];
  readonly url: URL;
}

/**
 * The pages of a collection, each from the `next` of the page before. They end at a page without `next`, an empty page or a
 * repeated address, so that no service causes an endless loop.
 * @param names the collection's own names, such as `devices`
 * @throws RvmError BAD_RESPONSE, UNTRUSTED_LINK, and what `ask` throws
 */
export async function* pagesFrom(
  first: Answer,
  names: readonly string[],
  origins: Origins,
  ask: (url: TrustedUrl) => Promise<Answer>,
  maxPages: number = DIALECT.collection.maxPages,
): AsyncGenerator<FetchedPage> {
  const seen = new Set([first.url.href]);
  let answer = first;
  let count = 0;
  let bytes = 0;
  while (seen.size <= maxPages) {
    const { records, next } = readPage(answer.empty ? {} : answer.json(), names);
    count += records.length;
    bytes += answer.body.length;
    if (count > DIALECT.collection.maxRecords || bytes > DIALECT.collection.maxBytes) {
      throw answer.error(
        'BAD_RESPONSE',
        'The service lists more than can be kept; report it to the service.',
      );
    }
    yield { records, url: answer.url };
    if (records.length === 0 || next === undefined) return;
    const url = origins.resolve(next, answer.url, answer.relation);
    if (seen.has(url.href)) return;
    answer = await ask(url);
    // A redirect may lead back, too.
    if (seen.has(answer.url.href)) return;
    seen.add(url.href);
  }
}

/** A record to be sent. */
export function jsonBody(record: object): RequestBody {
  return { type: 'application/json', bytes: JSON.stringify(record) };
}

/** A single record that may be wrapped in `result`, `data` or its own name. */
export function unwrapRecord(body: unknown): JsonRecord {
  if (!isRecord(body)) return {};
  if (firstText(body, ['id']) !== undefined || isRecord(body['_links'])) return body;
  const inner = firstField(body, DIALECT.collection.recordWrappers);
  return isRecord(inner) ? inner : body;
}

/** The links of a resource, including those of wrapper objects around its content. */
export function wrappedLinks(body: unknown): { _links: JsonRecord } {
  if (!isRecord(body)) return { _links: {} };
  const inner = wrappedLinks(firstField(body, DIALECT.collection.wrappers));
  const own = body['_links'];
  return isRecord(own) ? { _links: { ...inner._links, ...own } } : inner;
}

function elements(body: unknown, names: readonly string[]): unknown[] {
  if (Array.isArray(body)) return body;
  if (!isRecord(body)) return [];
  const named = firstField(body, names);
  if (Array.isArray(named)) return named;
  if (isRecord(named)) return mapElements(named);

  const embedded = firstField(body, ['_embedded']);
  if (isRecord(embedded)) return embeddedElements(embedded, names);
  for (const name of DIALECT.collection.anonymous) {
    const list = firstField(body, [name]);
    if (Array.isArray(list)) return list;
  }
  const wrapped = firstField(body, DIALECT.collection.wrappers);
  if (isRecord(wrapped)) return elements(wrapped, names);
  return onlyArray(body) ?? mapElements(body);
}

function embeddedElements(embedded: JsonRecord, names: readonly string[]): unknown[] {
  const byRelation = Object.entries(embedded).find(([key]) =>
    names.includes(key.slice(key.lastIndexOf('/') + 1).toLowerCase()),
  );
  if (byRelation !== undefined) return elements(byRelation[1], names);
  return onlyArray(embedded) ?? [];
}

function onlyArray(record: JsonRecord): unknown[] | undefined {
  const arrays = Object.entries(record).filter(
    ([key, value]) => Array.isArray(value) && !DIALECT.collection.envelope.includes(key),
  );
  const only: unknown = arrays.length === 1 ? arrays[0]?.[1] : undefined;
  return Array.isArray(only) ? only : undefined;
}

/** A map from id to record; an object that also contains plain values is no such map. */
function mapElements(record: JsonRecord): unknown[] {
  const entries = Object.entries(record).filter(
    ([key]) => !key.startsWith('_') && !DIALECT.collection.envelope.includes(key),
  );
  if (!entries.every(([, value]) => isRecord(value))) return [];
  return entries.map(([id, value]) => (isRecord(value) ? { id, ...value } : value));
}

function nextLink(body: JsonRecord): string | undefined {
  const own = findLink(body, 'next') ?? linkValue(firstField(body, DIALECT.collection.next));
  if (own !== undefined) return own;
  for (const name of [...DIALECT.collection.headers, ...DIALECT.collection.wrappers]) {
    const inner = firstField(body, [name]);
    const found = isRecord(inner) ? nextLink(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Maximum length of a relation's name: longer ones, full URLs included, do not exist and are skipped. */
const MAX_RELATION = 256;

/**
 * The address behind a relation of a resource, as sent, or undefined where the relation is not offered. A relation may be
 * spelled `rel/x`, `/rel/x`, `x`, `/<vendor>/rel/x` or as a full URL that ends in `rel/x`; the exact key wins. Its value may be
 * a text, `{ href }` or a list of one of these.
 */
export function findLink(resource: JsonRecord, relation: string): string | undefined {
  const links = resource['_links'];
  if (!isRecord(links)) return undefined;
  const exact = Object.hasOwn(links, relation) ? linkValue(links[relation]) : undefined;
  if (exact !== undefined) return exact;
  const wanted = lastPart(relation);
  for (const [key, value] of Object.entries(links)) {
    if (key.length > MAX_RELATION || lastPart(key) !== wanted) continue;
    const address = linkValue(value);
    if (address !== undefined) return address;
  }
  return undefined;
}

/** The first of these relations that a resource offers, and its address. */
export function findAnyLink(
  resource: JsonRecord,
  relations: readonly string[],
): { relation: string; address: string } | undefined {
  for (const relation of relations) {
    const address = findLink(resource, relation);
    if (address !== undefined) return { relation, address };
  }
  return undefined;
}

/** True for two spellings of one relation. */
export function isSameRelation(a: string, b: string): boolean {
  return lastPart(a) === lastPart(b);
}

/** The address in a link's value; undefined if there is none. */
export function linkValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  if (Array.isArray(value)) return value.length === 1 ? linkValue(value[0]) : undefined;
  const href = isRecord(value) ? firstField(value, ['href']) : undefined;
  return typeof href === 'string' ? linkValue(href) : undefined;
}

/** The word that names a relation: the part after the last slash, without query, fragment and trailing slashes. */
function lastPart(relation: string): string {
  const cut = relation.search(/[?#]/);
  let end = cut < 0 ? relation.length : cut;
  while (relation[end - 1] === '/') end -= 1;
  return relation.slice(relation.lastIndexOf('/', end - 1) + 1, end).toLowerCase();
}
