const HALF_OF_PAIR = /\p{Surrogate}/u;

/** False where a text has half of a surrogate pair alone. As bytes all such halves are alike, so two texts could pass for one. */
export function isWellFormed(text: string): boolean {
  return !HALF_OF_PAIR.test(text);
}
