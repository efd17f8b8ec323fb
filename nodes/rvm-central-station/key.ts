/** What a station key may look like. */
export const KEY = /^[a-z0-9-]{1,32}$/;

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
