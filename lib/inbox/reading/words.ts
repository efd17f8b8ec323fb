/** What somebody looks for: each of these words has to be somewhere. */
export type Words = readonly string[];

export function wordsOf(search: unknown): Words {
  return typeof search === 'string' ? search.toLowerCase().split(/\s+/).filter(Boolean) : [];
}

/** Whether texts have all the words, in whatever case. */
export function haveAll(texts: readonly unknown[], words: Words): boolean {
  if (words.length === 0) return true;
  const text = texts.join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}
