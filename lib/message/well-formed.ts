const HALF_OF_PAIR = /\p{Surrogate}/u;

/** False where a text has half of a surrogate pair alone. As bytes all such halves are alike, so two texts could pass for one. */
export function isWellFormed(text: string): boolean {
  return !HALF_OF_PAIR.test(text);
}

/** The begin of a text, in `length` UTF-16 units at most: cut between characters, never inside one. */
export function beginOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
