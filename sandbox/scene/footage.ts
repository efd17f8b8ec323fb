import { atMacroblock, firstMacroblock } from './bits';
import {
  atTimeOfDay,
  barSecond,
  captionOf,
  FRAMES_PER_SECOND,
  type Pack,
  type PackIndex,
  type Shots,
  type Subject,
} from './packs';

/** In this group a picture is shown so many places later than it is sent: I P B B P B B P B B. */
const SHOWN_WITH_B_FRAMES = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8] as const;

/** One picture: its NAL units without start codes; a key frame begins with the parameter sets. */
export interface AccessUnit {
  readonly nals: readonly Buffer[];
  readonly key: boolean;
  /** Number of the picture in display order, which may differ from the order of sending. */
  readonly shown: number;
}

/**
 * The endless video of a scene. A picture is identified by its number since the epoch (epoch second times FRAMES_PER_SECOND,
 * plus 0..9), so a moment always shows the same picture: day or night by its UTC hour, with the time in its bar and its text.
 */
export class Footage {
  readonly #overlay: Overlay | undefined;

  constructor(private readonly pack: Pack) {
    const { overlay } = pack.index;
    this.#overlay = overlay && new Overlay(pack, overlay);
  }

  get codec(): 'h264' | 'h265' {
    return this.pack.index.codec;
  }

  /** SPS and PPS, for H.265 preceded by the VPS; without start codes. */
  get parameterSets(): Buffer[] {
    return this.pack.index.parameterSets.map((part) => this.pack.part(part));
  }

  /** The picture with this number in sending order; every integer has one. */
  picture(number: number, subject: Subject): AccessUnit {
    const second = Math.floor(number / FRAMES_PER_SECOND);
    const index = number - second * FRAMES_PER_SECOND;
    const slices = this.#parts(second, index, subject).map((part) => this.pack.part(part));
    const shown = second * FRAMES_PER_SECOND + this.#shownPlace(index);
    if (index > 0) return { nals: slices, key: false, shown };
    return { nals: [...this.parameterSets, ...this.#withTime(slices, second, subject)], key: true, shown };
  }

  #withTime(slices: readonly Buffer[], second: number, { label }: Subject): readonly Buffer[] {
    if (this.#overlay !== undefined) return inOrder([...slices, ...this.#overlay.slices(second, label)]);
    const { bars } = this.pack.index;
    const bar = bars && atTimeOfDay(second, bars)[barSecond(second)];
    return bar === undefined ? slices : [this.pack.part(bar), ...slices];
  }

  #parts(second: number, index: number, subject: Subject): readonly number[] {
    const shots: Shots = atTimeOfDay(second, this.pack.index.shots);
    const visit = subject.intruder(second);
    const pictures = visit === undefined ? shots.idle : shots.intruder;
    const begin = (visit ?? modulo(second, shots.idle.length / FRAMES_PER_SECOND)) * FRAMES_PER_SECOND;
    const parts = pictures[begin + index];
    if (parts === undefined) throw new RangeError(`There is no picture ${begin + index} of this scene.`);
    return parts;
  }

  #shownPlace(index: number): number {
    return this.pack.index.bFrames ? (SHOWN_WITH_B_FRAMES[index] ?? index) : index;
  }
}

function inOrder(slices: readonly Buffer[]): Buffer[] {
  const addressed = slices.map((slice) => ({ slice, first: firstMacroblock(slice) }));
  return addressed.toSorted((a, b) => a.first - b.first).map(({ slice }) => slice);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

const BAR_BITS = 7;

/** Macroblocks (16 pixels wide) per row of the picture. */
const COLUMNS = 40;
/** Rows of the bar. Each bit is a square of 3 × 3 macroblocks; the first begins in the second column. */
const BAR_ROWS = [1, 2, 3] as const;
const TEXT_ROW = 21;

/** Adds the bar and the caption to the key frames of an H.264 pack. The pictures between them copy both. */
class Overlay {
  readonly #moved = new Map<string, Buffer>();

  /** Longest first, so that a picture needs few slices. */
  readonly #words: readonly string[];

  constructor(
    private readonly pack: Pack,
    private readonly parts: NonNullable<PackIndex['overlay']>,
  ) {
    this.#words = Object.keys(parts.glyphs).toSorted((a, b) => b.length - a.length);
  }

  /** The slices of bar and caption, unordered. */
  slices(second: number, label: string): Buffer[] {
    return [...this.#bar(barSecond(second)), ...this.#caption(captionOf(second, label))];
  }

  #bar(value: number): Buffer[] {
    const { glyphs, on, off } = this.parts;
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
      slices.push(this.#at(this.parts.glyphs[word ?? '?'], TEXT_ROW * COLUMNS + column));
      column += word?.length ?? 1;
    }
    return slices;
  }

  #wordAt(text: string, column: number): string | undefined {
    return this.#words.find((word) => text.startsWith(word, column));
  }

  /** Cached: the number of parts and positions is limited. */
  #at(part = -1, address = 0): Buffer {
    const key = `${part} ${address}`;
    const known = this.#moved.get(key);
    if (known !== undefined) return known;
    const moved = atMacroblock(this.pack.part(part), address);
    this.#moved.set(key, moved);
    return moved;
  }
}
