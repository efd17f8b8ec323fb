import type { DatabaseSync } from 'node:sqlite';
import type { Known, MessageKey } from '../store/port';
import type { Row, Statements } from './statements';

const REPLACEMENT = 0xfffd;
const HALF = 2 ** 32;

/** By which a message is looked for in memory. @param named, id as of a `NewMessage` */
export function messageKey(station: string, named: boolean, id: string): number {
  return keyOf(`${station}\n${Number(named)}${id}`);
}

/** By which an alarm is looked for in memory. */
export function alarmKey(station: string, alarm: string): number {
  return keyOf(`${station}\n${alarm}`);
}

/**
 * 48 bits of a text, the upper 16 of them never 0: two multiplicative hashes of its UTF-16 units, each mixed with the other at
 * the end. Of a million texts two hardly ever share a key; those that do are told apart in the file. Keys stand in the file:
 * another way to make them takes a step of its schema.
 */
function keyOf(text: string): number {
  let one = 0xdeadbeef;
  let other = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const unit = storable(text.charCodeAt(index));
    one = Math.imul(one ^ unit, 0x9e3779b1);
    other = Math.imul(other ^ unit, 0x5f356495);
  }
  const lower = mix(one) ^ mix(other ^ (other >>> 13));
  const upper = mix(other) ^ mix(one ^ (one >>> 13));
  return ((upper & 0xffff) | 1) * HALF + (lower >>> 0);
}

/** Lets every bit count in every other, as MurmurHash3 does at its end. */
function mix(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/** The file keeps UTF-8, in which half of a surrogate pair is U+FFFD: a text has the same key before and after. */
function storable(unit: number): number {
  return (unit & 0xf800) === 0xd800 ? REPLACEMENT : unit;
}

/** Slots at first. */
const SLOTS = 1024;
/** The share of slots that may be taken: beyond it searches become long. Then there are half as many more. */
const FULL = 0.75;
const GROWTH = 1.5;
/** 32-bit words of a slot: lower part of the key, lower part of the sequence, upper parts of both; the last is 0 where it is free. */
const WORDS = 3;
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

/**
 * Which messages and alarms are in the file: an index in memory, for the ids are random, and one in the file would write a page
 * of its own for each event, twice. What it finds is confirmed in the file, so that a key which two messages share does no
 * harm. An alarm is known by the last of its messages; where two share a key the later one takes the place, and the next event
 * of the other counts as its first. It takes 16 to 24 bytes for each message that is kept, and as much for each alarm.
 */
export class KnownMessages {
  readonly #messages = new SequenceTable();
  readonly #alarms = new SequenceTable();
  /** Takes back what was changed since the last commit. */
  #undo: (() => void)[] = [];

  constructor(private readonly statements: Statements) {}

  get size(): { messages: number; alarms: number } {
    return { messages: this.#messages.size, alarms: this.#alarms.size };
  }

  /** Reads the keys of all messages: for a million of them some tenths of a second, of which the disk gives 40 MB. */
  fill(database: DatabaseSync): void {
    this.#messages.reserve(Number(this.statements.count.get()?.['count'] ?? 0));
    // Called by SQLite for each row: a fifth of the time that rows as objects take.
    database.function('fill_known', (sequence, key, alarm) => {
      this.#messages.add(Number(key), Number(sequence));
      if (alarm !== null) this.#fillAlarm(Number(alarm), Number(sequence));
      return null;
    });
    database.exec(
      'SELECT count(fill_known(sequence, id_key, alarm_key)) FROM message INDEXED BY message_received',
    );
  }

  /** Whether a message is known, and what of its alarm is; reads alone. */
  look(likeness: MessageKey): Known {
    const copies = this.copiesOf(likeness);
    const same = copies.find((row) => row['fingerprint'] === likeness.fingerprint);
    const phase = this.phaseOf(likeness);
    if (same !== undefined) return { outcome: 'repeat', deliveryId: String(same['delivery_id']), ...phase };
    return { outcome: copies.length > 0 ? 'conflict' : 'new', ...phase };
  }

  /** All that have this id, each with other content. */
  copiesOf({ station, id, named }: Pick<MessageKey, 'station' | 'id' | 'named'>): Row[] {
    const sequences = this.#messages.of(messageKey(station, named, id));
    return sequences
      .map((sequence) => this.statements.copy.get(sequence, station, id, Number(named)))
      .filter((row) => row !== undefined);
  }

  /** Whether a message is the first of its alarm, and comes after its end. */
  phaseOf({ station, alarm }: Pick<MessageKey, 'station' | 'alarm'>): Pick<Known, 'first' | 'ended'> {
    if (alarm === undefined) return { first: true, ended: false };
    const [sequence = 0] = this.#alarms.of(alarmKey(station, alarm));
    const before = sequence === 0 ? undefined : this.statements.ofAlarm.get(sequence, station, alarm);
    return { first: before === undefined, ended: before?.['is_end'] === 1 || before?.['ended'] === 1 };
  }

  /** @param alarm the key of an alarm; of an event alone */
  add(sequence: number, key: number, alarm: number | null): void {
    this.#messages.add(key, sequence);
    this.#undo.push(() => this.#messages.remove(key, sequence));
    if (alarm === null) return;
    const [before] = this.#alarms.of(alarm);
    if (before === undefined) this.#alarms.add(alarm, sequence);
    else this.#alarms.replace(alarm, before, sequence);
    this.#undo.push(() => {
      if (before === undefined) this.#alarms.remove(alarm, sequence);
      else this.#alarms.replace(alarm, sequence, before);
    });
  }

  /** Removes a message, of which the row has its keys, here and in the file. */
  remove(row: Row): void {
    const sequence = Number(row['sequence']);
    this.statements.deleteMessage.run(sequence);
    // No alarm has the key 0.
    const [key, alarm] = [Number(row['id_key']), Number(row['alarm_key'] ?? 0)];
    if (this.#messages.remove(key, sequence)) this.#undo.push(() => this.#messages.add(key, sequence));
    if (this.#alarms.remove(alarm, sequence)) this.#undo.push(() => this.#alarms.add(alarm, sequence));
  }

  /** What was changed is in the file. */
  committed(): void {
    this.#undo = [];
  }

  /** Nothing of what was changed is in the file. */
  rolledBack(): void {
    for (const undo of this.#undo.splice(0).reverse()) undo();
  }

  /** Rows come by the time of receipt, which is not always their order. */
  #fillAlarm(key: number, sequence: number): void {
    const [last] = this.#alarms.of(key);
    if (last === undefined) this.#alarms.add(key, sequence);
    else if (last < sequence) this.#alarms.replace(key, last, sequence);
  }
}
