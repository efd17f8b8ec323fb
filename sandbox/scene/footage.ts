import { barSecond } from './caption';
import { FRAMES_PER_SECOND } from './frame-rate';
import { firstMacroblock } from './h264-slice';
import { Overlay } from './overlay';
import type { Pack, Shots } from './pack';
import type { Subject } from './subject';
import { atTimeOfDay } from './time-of-day';

/** In this group a picture is shown so many places later than it is sent (scripts/fixture/encode.ts): I P B B P B B P B B. */
const SHOWN_WITH_B_FRAMES = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8] as const;

/** One picture: its NAL units without start codes, parameter sets first in a key frame. */
export interface AccessUnit {
  readonly nals: readonly Buffer[];
  readonly key: boolean;
  /** Number of the picture in the order of showing; that in which they are sent may be another. */
  readonly shown: number;
}

/**
 * The video of a scene without beginning and end. A picture is named by its number since the epoch (epoch second times
 * FRAMES_PER_SECOND, plus 0..9), so a moment always has the same one: by day or night as the hour of its time (UTC) has it, with
 * the time in its bar and its text.
 */
export class Footage {
  readonly #pack: Pack;
  readonly #overlay: Overlay | undefined;

  constructor(pack: Pack) {
    this.#pack = pack;
    const { overlay } = pack.index;
    this.#overlay = overlay && new Overlay(pack, overlay);
  }

  get codec(): 'h264' | 'h265' {
    return this.#pack.index.codec;
  }

  /** SPS and PPS, with H.265 VPS before them, without start codes. */
  get parameterSets(): Buffer[] {
    return this.#pack.index.parameterSets.map((part) => this.#pack.part(part));
  }

  /** The picture with this number in the order of sending; every whole number has one. */
  picture(number: number, subject: Subject): AccessUnit {
    const second = Math.floor(number / FRAMES_PER_SECOND);
    const place = number - second * FRAMES_PER_SECOND;
    const slices = this.#parts(second, place, subject).map((part) => this.#pack.part(part));
    const shown = second * FRAMES_PER_SECOND + this.#shownPlace(place);
    if (place > 0) return { nals: slices, key: false, shown };
    return { nals: [...this.parameterSets, ...this.#withTime(slices, second, subject)], key: true, shown };
  }

  #withTime(slices: readonly Buffer[], second: number, { label }: Subject): readonly Buffer[] {
    if (this.#overlay !== undefined) return inOrder([...slices, ...this.#overlay.slices(second, label)]);
    const { bars } = this.#pack.index;
    const bar = bars && atTimeOfDay(second, bars)[barSecond(second)];
    return bar === undefined ? slices : [this.#pack.part(bar), ...slices];
  }

  #parts(second: number, place: number, subject: Subject): readonly number[] {
    const shots: Shots = atTimeOfDay(second, this.#pack.index.shots);
    const visit = subject.intruder(second);
    const pictures = visit === undefined ? shots.idle : shots.intruder;
    const begin = (visit ?? modulo(second, shots.idle.length / FRAMES_PER_SECOND)) * FRAMES_PER_SECOND;
    const parts = pictures[begin + place];
    if (parts === undefined) throw new RangeError(`There is no picture ${begin + place} of this scene.`);
    return parts;
  }

  #shownPlace(place: number): number {
    return this.#pack.index.bFrames ? (SHOWN_WITH_B_FRAMES[place] ?? place) : place;
  }
}

function inOrder(slices: readonly Buffer[]): Buffer[] {
  const addressed = slices.map((slice) => ({ slice, first: firstMacroblock(slice) }));
  return addressed.toSorted((a, b) => a.first - b.first).map(({ slice }) => slice);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
