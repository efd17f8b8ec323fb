import { GrowingBuffer } from '../../../growing-buffer';

/** Bytes of one NAL unit, and of one picture: a key frame of the largest cameras has about a quarter. */
export const MOST_BYTES = 8 * 1024 * 1024;

const FIRST_SIZE = 16 * 1024;

/** Puts a NAL unit together that came in pieces (RFC 6184, section 5.8; RFC 7798, section 4.4.3). */
export class FragmentedUnit {
  /** Used again for each unit. */
  readonly #bytes = new GrowingBuffer(FIRST_SIZE);
  #isOpen = false;
  /** Ends are told: then a unit without one is not whole. */
  #tellsEnds = false;

  /** Begun, and its end did not come yet. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Drops what was begun before. */
  begin(header: Uint8Array): void {
    this.#bytes.length = 0;
    this.#bytes.append(header);
    this.#isOpen = true;
  }

  /** False where it would grow too large: it is dropped. */
  append(piece: Buffer): boolean {
    if (this.#bytes.length + piece.length > MOST_BYTES) {
      this.drop();
      return false;
    }
    this.#bytes.append(piece);
    return true;
  }

  end(): Buffer {
    this.#tellsEnds = true;
    return this.#whole();
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

  #whole(): Buffer {
    this.#isOpen = false;
    return Buffer.from(this.#bytes.content());
  }
}
