import { barSecond, captionOf } from './caption';
import { atMacroblock } from './h264-slice';
import type { Pack, PackIndex } from './pack';

const BAR_BITS = 7;

/** Macroblocks of 16 pixels in a row of the picture. */
const COLUMNS = 40;
/** The bar stands in these rows, a square of three macroblocks for each bit from the second one on. */
const BAR_ROWS = [1, 2, 3] as const;
const TEXT_ROW = 21;

type Parts = NonNullable<PackIndex['overlay']>;

/** Puts the bar and the line of text over the key frames of a pack of H.264. The pictures between them copy both. */
export class Overlay {
  readonly #pack: Pack;
  readonly #parts: Parts;
  readonly #moved = new Map<string, Buffer>();

  /** Longer ones first: a picture is to have few slices. */
  readonly #words: readonly string[];

  constructor(pack: Pack, parts: Parts) {
    this.#pack = pack;
    this.#parts = parts;
    this.#words = Object.keys(parts.glyphs).toSorted((a, b) => b.length - a.length);
  }

  /** The slices of bar and text, in no order. */
  slices(second: number, label: string): Buffer[] {
    return [...this.#bar(barSecond(second)), ...this.#caption(captionOf(second, label))];
  }

  #bar(value: number): Buffer[] {
    const { glyphs, on, off } = this.#parts;
    return BAR_ROWS.flatMap((row, i) => {
      const squares = Array.from({ length: BAR_BITS }, (_, bit) => {
        const parts = ((value >>> bit) & 1) === 1 ? on : off;
        return this.#at(parts[i], row * COLUMNS + 1 + 3 * bit);
      });
      return [this.#at(glyphs[' '], row * COLUMNS), ...squares];
    });
  }

  #caption(text: string): Buffer[] {
    const slices: Buffer[] = [];
    for (let column = 0; column < text.length;) {
      const word = this.#wordAt(text, column);
      slices.push(this.#at(this.#parts.glyphs[word ?? '?'], TEXT_ROW * COLUMNS + column));
      column += word?.length ?? 1;
    }
    return slices;
  }

  #wordAt(text: string, column: number): string | undefined {
    return this.#words.find((word) => text.startsWith(word, column));
  }

  /** There are only so many characters and places: each is moved once. */
  #at(part = -1, address = 0): Buffer {
    const key = `${part} ${address}`;
    const known = this.#moved.get(key);
    if (known !== undefined) return known;
    const moved = atMacroblock(this.#pack.part(part), address);
    this.#moved.set(key, moved);
    return moved;
  }
}
