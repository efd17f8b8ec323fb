/** Characters that are looked at one by one: most that is looked for is near, and the engine takes its time to begin. */
const NEAR = 32;
const ASCII = 128;

/**
 * Looks in a text for the first character of a class. A long way is left to the engine, which goes it many times as fast as code
 * that looks at one character after the other, and as fast where such code has hardly run before.
 */
export class CharacterSearch {
  readonly #pattern: RegExp;
  /** Which codes are meant; the last stands for all beyond ASCII. */
  readonly #isMeant: readonly boolean[];

  /** @param characters the class, which makes no difference between characters beyond ASCII */
  constructor(characters: RegExp) {
    this.#pattern = new RegExp(characters, 'g');
    this.#isMeant = Array.from({ length: ASCII + 1 }, (_, code) =>
      characters.test(String.fromCharCode(code)),
    );
  }

  /** Where the first of them stands from a place on; the end of the text where none does. */
  firstIn(text: string, from: number): number {
    const near = Math.min(from + NEAR, text.length);
    for (let at = from; at < near; at += 1)
      if (this.#isMeant[Math.min(text.charCodeAt(at), ASCII)]) return at;
    if (near >= text.length) return text.length;
    this.#pattern.lastIndex = near;
    return this.#pattern.test(text) ? this.#pattern.lastIndex - 1 : text.length;
  }
}
