import { MOST_BYTES } from './fragmented-unit';
import type { Field, Slice } from './video-codec';

/** NAL units of a picture: more than a slice for each row of macroblocks of the tallest one has. */
const MOST_UNITS = 1024;

/** A picture under assembly. */
export class Picture {
  readonly nals: Buffer[] = [];
  /** Sets and hints that came behind slices: only what follows tells whether they are of this picture, or of the next. */
  readonly behind: Buffer[] = [];
  #bytes = 0;
  #units = 0;
  #first: Slice | undefined;
  readonly #fields: (Field | undefined)[] = [];
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

  /** Nothing is missing yet, but there is no slice. */
  get isOnlyBegun(): boolean {
    return this.isEmpty && !this.#isSpoilt;
  }

  get isTooLarge(): boolean {
    return this.#bytes > MOST_BYTES || this.#units > MOST_UNITS;
  }

  /** Undefined without slices. */
  get pps(): number | undefined {
    return this.#first?.pps;
  }

  get entry(): 'clean' | 'open' | undefined {
    return this.#first?.entry ?? (this.#hasRecovery && this.#isIntra ? 'open' : undefined);
  }

  get isIntra(): boolean {
    return this.#isIntra;
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
    this.nals.length = 0;
  }

  /** Whether a slice that begins a picture begins another one; not so the second field of a frame. */
  isEndedBy(field: Field | undefined): boolean {
    if (this.isEmpty) return this.#isSpoilt;
    return field === undefined || this.#fields.length > 1 || [undefined, field].includes(this.#fields[0]);
  }

  addBehind(nal: Buffer): void {
    this.#count(nal);
    if (!this.isTooLarge) this.behind.push(nal);
  }

  addRecovery(nal: Buffer): void {
    this.#hasRecovery = true;
    this.#add(nal);
  }

  /**
   * @param slice its head; undefined where it cannot be read
   * @param field of a frame that it begins
   */
  addSlice(nal: Buffer, slice: Slice | undefined, field: Field | undefined): void {
    if (slice === undefined || (this.isEmpty && !slice.isFirst)) return this.spoil();
    this.#first ??= slice;
    if (slice.isFirst) this.#fields.push(field);
    this.#isIntra &&= slice.isIntra;
    this.#add(nal);
  }

  #add(nal: Buffer): void {
    if (this.#isSpoilt) return;
    this.#count(nal);
    this.nals.push(nal);
  }

  #count({ length }: Buffer): void {
    this.#bytes += length;
    this.#units += 1;
  }
}
