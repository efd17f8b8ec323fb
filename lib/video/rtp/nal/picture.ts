import { MOST_BYTES } from './fragmented-unit';
import type { Slice } from './video-codec';

/** NAL units of a picture: more than a slice for each row of macroblocks of the tallest one has. */
const MOST_UNITS = 1024;

/** A picture under assembly. */
export class Picture {
  readonly nals: Buffer[] = [];
  #bytes = 0;
  #first: Slice | undefined;
  /** Each slice is intra-coded. */
  #isIntra = true;
  #hasRecovery = false;
  #isSpoilt = false;

  constructor(readonly time: number) {}

  /** Without slices. */
  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  get isSpoilt(): boolean {
    return this.#isSpoilt;
  }

  get isTooLarge(): boolean {
    return this.#bytes > MOST_BYTES || this.nals.length > MOST_UNITS;
  }

  /** Undefined without slices. */
  get pps(): number | undefined {
    return this.#first?.pps;
  }

  get entry(): 'clean' | 'open' | undefined {
    const entry = this.#first?.entry;
    if (entry !== 'recovery') return entry;
    return this.#hasRecovery && this.#isIntra ? 'open' : undefined;
  }

  get isBrokenLink(): boolean {
    return this.#first?.isBrokenLink === true;
  }

  get reachesBack(): boolean {
    return this.#first?.reachesBack === true;
  }

  /** Something of it is missing. */
  spoil(): void {
    this.#isSpoilt = true;
  }

  addRecovery(nal: Buffer): void {
    this.#hasRecovery = true;
    this.#add(nal);
  }

  /** @param slice its head; undefined where it cannot be read */
  addSlice(nal: Buffer, slice: Slice | undefined): void {
    if (slice === undefined || (this.isEmpty && !slice.isFirst)) return this.spoil();
    this.#first ??= slice;
    this.#isIntra &&= slice.entry !== undefined;
    this.#add(nal);
  }

  #add(nal: Buffer): void {
    if (this.#isSpoilt) return;
    this.#bytes += nal.length;
    this.nals.push(nal);
  }
}
