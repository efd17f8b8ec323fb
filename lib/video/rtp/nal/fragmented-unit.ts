import { GrowingBuffer } from '../../../bytes';
import type { Unpacked } from './unpacking';

/** Bytes of one NAL unit, and of one picture: a key frame of the largest cameras has about a quarter. */
export const MOST_BYTES = 8 * 1024 * 1024;

const FIRST_SIZE = 16 * 1024;

/** Puts a NAL unit together that came in pieces (RFC 6184, section 5.8; RFC 7798, section 4.4.3). */
export class FragmentedUnit {
  /** Used again for each unit. */
  readonly #bytes = new GrowingBuffer(FIRST_SIZE);
  #pieces = 0;
  #isOpen = false;
  /** Ends are told: then a unit without one is not whole. */
  #tellsEnds = false;

  /** @param header of the unit */
  add(header: Uint8Array, piece: Buffer, { isStart, isEnd }: { isStart: boolean; isEnd: boolean }): Unpacked {
    const before = isStart ? this.finish() : [];
    this.#tellsEnds ||= isEnd;
    if (isStart) this.#begin(header);
    else if (!this.#isOpen) return 'damaged';
    if (!this.#append(piece)) return 'too-large';
    const whole = isEnd ? [this.#whole()] : [];
    // One that begins amidst another may become whole, but the other is not.
    return before === 'damaged' ? before : [...before, ...whole];
  }

  /** Whether a mark at the last piece may end its picture: not amidst a unit whose end will be told. */
  mayEnd(): boolean {
    if (!this.#isOpen) return true;
    // Nobody sends a unit in one piece: who marks the first marks them all.
    this.#tellsEnds ||= this.#pieces === 1;
    return !this.#tellsEnds;
  }

  /** What was begun, where no more of it comes: some senders never tell which piece is the last. */
  finish(): Buffer[] | 'damaged' {
    if (!this.#isOpen) return [];
    if (!this.#tellsEnds) return [this.#whole()];
    this.drop();
    return 'damaged';
  }

  drop(): void {
    this.#isOpen = false;
  }

  #begin(header: Uint8Array): void {
    this.#bytes.length = 0;
    this.#bytes.append(header);
    this.#pieces = 0;
    this.#isOpen = true;
  }

  /** False where it would grow too large: it is dropped. */
  #append(piece: Buffer): boolean {
    if (this.#bytes.length + piece.length > MOST_BYTES) {
      this.drop();
      return false;
    }
    this.#bytes.append(piece);
    this.#pieces += 1;
    return true;
  }

  #whole(): Buffer {
    this.#isOpen = false;
    return Buffer.from(this.#bytes.content());
  }
}
