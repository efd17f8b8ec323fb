/** Slots at first. */
const SLOTS = 1024;
/** The share of slots that may be taken: beyond it searches become long. Then there are half as many more. */
const FULL = 0.75;
const GROWTH = 1.5;
/** 32-bit words of a slot: lower part of the key, lower part of the sequence, upper parts of both; the last is 0 where it is free. */
const WORDS = 3;
const HALF = 2 ** 32;
const UPPER = 2 ** 16;

/**
 * Sequences by key, several of one key as well: 12 bytes a slot, 16 to 24 bytes a sequence. A hash table with linear probing
 * over one typed array: of a million entries the collector of garbage sees one.
 */
export class SequenceTable {
  #words = new Uint32Array(SLOTS * WORDS);
  #slots = SLOTS;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Memory that it takes. */
  get bytes(): number {
    return this.#words.byteLength;
  }

  /** Makes room for so many at once. */
  reserve(count: number): void {
    const slots = Math.ceil(count / FULL) + 1;
    if (slots > this.#slots) this.#resize(slots);
  }

  /**
   * @param key of 48 bits, the upper 16 not 0
   * @param sequence below 2 to the power of 48, not there yet under this key
   */
  add(key: number, sequence: number): void {
    if (this.#size >= this.#slots * FULL) this.#resize(Math.ceil(this.#slots * GROWTH));
    this.#write(this.#freeFrom(this.#home(key)), key, sequence);
    this.#size += 1;
  }

  /** All sequences of a key, in no order. */
  of(key: number): number[] {
    const found: number[] = [];
    for (let slot = this.#home(key); !this.#isFree(slot); slot = this.#next(slot))
      if (this.#keyAt(slot) === key) found.push(this.#sequenceAt(slot));
    return found;
  }

  /** Puts another sequence in the place of one; does nothing where that is not there. */
  replace(key: number, sequence: number, by: number): void {
    const slot = this.#find(key, sequence);
    if (slot !== undefined) this.#write(slot, key, by);
  }

  /** False where it was not there. */
  remove(key: number, sequence: number): boolean {
    const slot = this.#find(key, sequence);
    if (slot === undefined) return false;
    this.#free(slot);
    this.#size -= 1;
    return true;
  }

  #find(key: number, sequence: number): number | undefined {
    for (let slot = this.#home(key); !this.#isFree(slot); slot = this.#next(slot))
      if (this.#keyAt(slot) === key && this.#sequenceAt(slot) === sequence) return slot;
    return undefined;
  }

  #freeFrom(home: number): number {
    let slot = home;
    while (!this.#isFree(slot)) slot = this.#next(slot);
    return slot;
  }

  /** By the lower part of the key, in its order: a table that grows is read and written from its start to its end. */
  #home(key: number): number {
    return Math.floor(((key % HALF) * this.#slots) / HALF);
  }

  #next(slot: number): number {
    return slot + 1 === this.#slots ? 0 : slot + 1;
  }

  #isFree(slot: number): boolean {
    return this.#words[slot * WORDS + 2] === 0;
  }

  #keyAt(slot: number): number {
    const upper = this.#word(slot, 2) >>> 16;
    return upper * HALF + this.#word(slot, 0);
  }

  #sequenceAt(slot: number): number {
    const upper = this.#word(slot, 2) % UPPER;
    return upper * HALF + this.#word(slot, 1);
  }

  #word(slot: number, index: number): number {
    return this.#words[slot * WORDS + index] ?? 0;
  }

  #write(slot: number, key: number, sequence: number): void {
    const at = slot * WORDS;
    this.#words[at] = key % HALF;
    this.#words[at + 1] = sequence % HALF;
    this.#words[at + 2] = Math.floor(key / HALF) * UPPER + Math.floor(sequence / HALF);
  }

  #resize(slots: number): void {
    const former = this.#words;
    this.#slots = slots;
    this.#words = new Uint32Array(slots * WORDS);
    for (let at = 0; at < former.length; at += WORDS) {
      if (former[at + 2] === 0) continue;
      const slot = this.#freeFrom(this.#home(former[at] ?? 0));
      for (let word = 0; word < WORDS; word += 1) this.#words[slot * WORDS + word] = former[at + word] ?? 0;
    }
  }

  /** Moves forward what was put behind this slot because it was taken: a search ends at the first free one. */
  #free(slot: number): void {
    let free = slot;
    for (let at = this.#next(free); !this.#isFree(at); at = this.#next(at)) {
      if (this.#distance(this.#home(this.#keyAt(at)), at) < this.#distance(free, at)) continue;
      this.#words.copyWithin(free * WORDS, at * WORDS, (at + 1) * WORDS);
      free = at;
    }
    this.#words.fill(0, free * WORDS, (free + 1) * WORDS);
  }

  /** Slots from one to another, as a search goes. */
  #distance(from: number, to: number): number {
    return to >= from ? to - from : to - from + this.#slots;
  }
}
