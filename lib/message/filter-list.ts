/** By what a webhook node can be told to take only some events. Each is a property of it. */
export const FILTERS = ['classes', 'sites', 'cameras', 'rules'] as const;
export type FilterName = (typeof FILTERS)[number];

/** One id and what ends it: in quotation marks, each of them within doubled, or as it stands as far as the next comma. */
const ID = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/y;

/** The ids in a property of a flow, each once: with commas between. One that holds a comma itself stands in quotation marks. */
export function idsIn(text: string): string[] {
  const ids = new Set<string>();
  ID.lastIndex = 0;
  while (ID.lastIndex < text.length) {
    const [, quoted, plain = ''] = ID.exec(text) ?? [];
    ids.add((quoted?.replaceAll('""', '"') ?? plain).trim());
  }
  ids.delete('');
  return [...ids];
}

/** The same as a property has them. */
export function textOfIds(ids: readonly string[]): string {
  return ids.map((id) => (/[",]/.test(id) ? `"${id.replaceAll('"', '""')}"` : id)).join(', ');
}
