import { isRecord, type JsonRecord } from '../../json/json';
import { firstField } from './json-field';

/** Longer names of relations, full URLs included, are nobody's: they are passed over unread. */
const MAX_RELATION = 256;

/**
 * The address behind a relation of a resource, as sent, or undefined where the relation is not offered.
 * A relation may be spelled `rel/x`, `/rel/x`, `x`, `/<vendor>/rel/x` or as a full URL that ends in `rel/x`;
 * the exact key wins. Its value may be a text, `{ href }` or a list of one of these.
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

/** The first of several relations that a resource offers, and its address. */
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

/** The address in a link's value; undefined for anything that holds none. */
export function linkValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  if (Array.isArray(value)) return value.length === 1 ? linkValue(value[0]) : undefined;
  const href = isRecord(value) ? firstField(value, ['href']) : undefined;
  return typeof href === 'string' ? linkValue(href) : undefined;
}

/** The word that names a relation: what stands behind the last slash, without query, fragment and closing slashes. */
function lastPart(relation: string): string {
  const cut = relation.search(/[?#]/);
  let end = cut < 0 ? relation.length : cut;
  while (relation[end - 1] === '/') end -= 1;
  return relation.slice(relation.lastIndexOf('/', end - 1) + 1, end).toLowerCase();
}
