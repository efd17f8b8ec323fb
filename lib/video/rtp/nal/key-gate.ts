/** A whole picture, as far as it decides whether it can be decoded. */
export interface Decodable {
  /** Decoding can begin here: `open` where what is shown before it may need pictures from before it. */
  entry: 'clean' | 'open' | undefined;
  isBrokenLink: boolean;
  reachesBack: boolean;
  /** When it is shown. */
  time: number;
}

/** Lets pictures pass that can be decoded: from a key frame on, until packets are missing. */
export class KeyGate {
  #isOpen = false;
  /** Time of the key frame before which pictures that reach back are broken. */
  #leadsTo: number | undefined;

  /** Something is missing: closed until the next key frame. */
  close(): void {
    this.#isOpen = false;
  }

  passes({ entry, isBrokenLink, reachesBack, time }: Decodable): boolean {
    if (entry === undefined) return this.#isOpen && !(reachesBack && this.#isBefore(time));
    const isBeginning = !this.#isOpen || isBrokenLink;
    this.#isOpen = true;
    this.#leadsTo = entry === 'open' && isBeginning ? time : undefined;
    return true;
  }

  #isBefore(time: number): boolean {
    return this.#leadsTo !== undefined && time < this.#leadsTo;
  }
}
