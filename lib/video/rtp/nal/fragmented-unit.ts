import { GrowingBuffer } from '../../../growing-buffer';

/** Bytes of one NAL unit, and of one picture: a key frame of the largest cameras has about a quarter. */
export const MOST_BYTES = 8 * 1024 * 1024;

const FIRST_SIZE = 16 * 1024;

/** Puts a NAL unit together that came in pieces (RFC 6184, section 5.8; RFC 7798, section 4.4.3). */
export class FragmentedUnit {
  /** Used again for each unit. */
  readonly #bytes = new GrowingBuffer(FIRST_SIZE);
  #isOpen = false;

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
    this.#isOpen = false;
    return Buffer.from(this.#bytes.content());
  }

  drop(): void {
    this.#isOpen = false;
  }
}
