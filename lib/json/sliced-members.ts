import { parseSafely } from './parse-safely';

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];

/** A JSON text of too many values, or of too many names in one object. */
export class TooManyError extends Error {}

/** A list that grows piece by piece. */
export class ListMembers {
  readonly value: unknown[] = [];

  addPiece(piece: string): void {
    const members = parseSafely(`[${piece}]`);
    if (Array.isArray(members)) for (const member of members) this.value.push(member);
  }

  addOne(_key: string, member: unknown): void {
    this.value.push(member);
  }

  endOfKey(_json: Uint8Array, from: number): number {
    return from;
  }
}

/** An object that grows piece by piece. */
export class RecordMembers {
  readonly value: Record<string, unknown> = {};
  #names = 0;

  /** @param most names that it may have */
  constructor(private readonly most: number) {}

  addPiece(piece: string): void {
    this.#add(parseSafely(`{${piece}}`));
  }

  /** @param key with its colon */
  addOne(key: string, member: unknown): void {
    // Whether the key may be there depends on what a value of its kind holds.
    const holdsPrototype =
      typeof member === 'object' && member !== null && Object.hasOwn(member, 'prototype');
    this.#add(mapped(parseSafely(`{${key}${holdsPrototype ? '{"prototype":0}' : '0'}}`), member));
  }

  /** Behind the colon of the first member. */
  endOfKey(json: Uint8Array, from: number): number {
    let at = json.indexOf(QUOTE, from) + 1;
    while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
    const colon = json.indexOf(COLON, at);
    if (at === 0 || colon < 0) throw new SyntaxError('A key is missing.');
    return colon + 1;
  }

  #add(members: unknown): void {
    const record = Object(members);
    this.#names += Object.keys(record).length;
    if (this.#names > this.most) throw new TooManyError('An object has too many names.');
    Object.assign(this.value, record);
  }
}

/** A record with another value in place of each of its own. */
function mapped(record: unknown, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.keys(Object(record)).map((key) => [key, value]));
}
