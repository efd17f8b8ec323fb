/** Which no text of PostgreSQL may hold; and what stands before what stands for it, and for itself. */
const NUL = '\u0000';
const ESCAPE = '\u0001';
const NUL_ESCAPED = `${ESCAPE}0`;
const ESCAPE_ESCAPED = `${ESCAPE}1`;

/**
 * A text as PostgreSQL can store it: each has a form of its own. Half of a surrogate pair becomes U+FFFD, as in every file of
 * UTF-8.
 */
export function storable(text: string): string {
  if (!text.includes(NUL) && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, ESCAPE_ESCAPED).replaceAll(NUL, NUL_ESCAPED);
}

/** The text that was stored. */
export function storedText(text: unknown): string {
  const stored = String(text);
  if (!stored.includes(ESCAPE)) return stored;
  return stored.replaceAll(NUL_ESCAPED, NUL).replaceAll(ESCAPE_ESCAPED, ESCAPE);
}
