import { setImmediate } from 'node:timers/promises';
import { parseSafely } from './json';

const COLON = 0x3a;

/** Thrown for a JSON text with too many values, or with too many names in one object. */
export class TooManyError extends Error {}

/** A list that grows piece by piece. */
class ListMembers {
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
class RecordMembers {
  readonly value: Record<string, unknown> = {};
  #names = 0;

  /** @param most names at most */
  constructor(private readonly most: number) {}

  addPiece(piece: string): void {
    this.#add(parseSafely(`{${piece}}`));
  }

  /** @param key with its colon */
  addOne(key: string, member: unknown): void {
    // Whether the key is allowed depends on its value: `constructor` is removed only with a `prototype` in
    // its value.
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

/** A record with the same keys, all with this value. */
function mapped(record: unknown, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.keys(Object(record)).map((key) => [key, value]));
}

/** Bytes of a piece that the parser gets at a time. */
const PIECE = 32 * 1024;
/** Bytes that are scanned between two checks of the clock. */
const LOOK = 8 * 1024;
/** Milliseconds without a pause. */
const SLICE_MS = 3;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPENING_BRACKET, CLOSING_BRACKET] = [0x5b, 0x5d];
const [OPENING_BRACE, CLOSING_BRACE] = [0x7b, 0x7d];
const [BLANK, TAB, LINE_FEED, RETURN] = [0x20, 0x09, 0x0a, 0x0d];
/** A byte-order mark inside the text is no JSON: it is not removed, so that the parser refuses it. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Limits of a JSON text. */
export interface JsonBounds {
  /** Objects and lists inside each other. */
  depth: number;
  /** Members of all objects and lists together: each takes memory, and time at garbage collection. */
  values: number;
  /** Names in one object: from time to time a growing object is laid out anew in one go, which blocks. */
  names: number;
}

/** Thrown for a JSON text that opens too many objects and lists inside each other. */
export class TooDeepError extends Error {}

/**
 * Parses a long JSON text in pieces, with pauses for the event loop. Keys that would reach into prototypes are removed, as
 * `secure-json-parse` does.
 * @param json in UTF-8; a text would have to be made all at once
 * @throws TooDeepError, TooManyError; SyntaxError where it is no JSON
 */
export async function parseInSlices(json: Uint8Array, bounds: JsonBounds): Promise<unknown> {
  return new SlicedParse(json, bounds).value(0, json.length, bounds.depth);
}

/** Some adjacent members, or a long one. */
interface Piece {
  from: number;
  /** Position of a comma, or the end of all members. */
  to: number;
  /** Number of values, nested ones included. */
  values: number;
}

class SlicedParse {
  #restedAt = -Infinity;
  #values = 0;

  constructor(
    private readonly json: Uint8Array,
    private readonly bounds: JsonBounds,
  ) {}

  /** @param deepest nesting still allowed */
  async value(from: number, to: number, deepest: number): Promise<unknown> {
    const { json } = this;
    const [start, end] = await this.#withoutSpace(from, to);
    const opening = json[start];
    if (opening !== OPENING_BRACKET && opening !== OPENING_BRACE) {
      await this.#rest();
      // Not `parseSafely`, which removes a byte-order mark: behind one, a whole list would be parsed at once.
      return JSON.parse(this.#text(start, end));
    }
    const isList = opening === OPENING_BRACKET;
    if (json[end - 1] !== (isList ? CLOSING_BRACKET : CLOSING_BRACE))
      throw new SyntaxError('It does not end.');
    const members = isList ? new ListMembers() : new RecordMembers(this.bounds.names);
    for (let at = start + 1; ;) {
      const piece = await this.#pieceFrom(at, end - 1, deepest - 1);
      const isAll = at === start + 1 && piece.to === end - 1;
      await this.#take(members, piece, { isAll, deepest: deepest - 1 });
      if (piece.to === end - 1) return members.value;
      at = piece.to + 1;
    }
  }

  async #take(
    members: ListMembers | RecordMembers,
    { from, to, values }: Piece,
    { isAll, deepest }: { isAll: boolean; deepest: number },
  ): Promise<void> {
    const [start, end] = await this.#withoutSpace(from, to);
    if (start === end && isAll) return;
    if (start === end) throw new SyntaxError('A comma has nothing on one side.');
    if (to - from <= 2 * PIECE) {
      this.#values += values;
      if (this.#values > this.bounds.values) throw new TooManyError('It has too many values.');
      members.addPiece(this.#text(from, to));
      return;
    }
    const valueFrom = members.endOfKey(this.json, from);
    members.addOne(this.#text(from, valueFrom), await this.value(valueFrom, to, deepest));
  }

  async #pieceFrom(from: number, to: number, deepest: number): Promise<Piece> {
    const { json } = this;
    let depth = 0;
    let isInString = false;
    let values = 1;
    let last: Piece | undefined;
    let look = from;
    for (let at = from; at < to; at += 1) {
      if (at >= look) {
        await this.#rest();
        look = at + LOOK;
      }
      const byte = json[at];
      if (isInString) {
        if (byte === BACKSLASH) at += 1;
        else if (byte === QUOTE) isInString = false;
      } else if (byte === QUOTE) isInString = true;
      else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
        depth += 1;
        values += 1;
      } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth -= 1;
      else if (byte === COMMA) {
        if (depth === 0) {
          if (at - from > PIECE) return last ?? { from, to: at, values };
          last = { from, to: at, values };
        }
        values += 1;
      }
      if (depth > deepest) throw new TooDeepError('It is nested too deep.');
    }
    return to - from > PIECE && last !== undefined ? last : { from, to, values };
  }

  async #withoutSpace(from: number, to: number): Promise<[start: number, end: number]> {
    const { json } = this;
    let [start, end] = [from, to];
    for (; start < end && isSpace(json[start]); start += 1) if (start % LOOK === 0) await this.#rest();
    for (; end > start && isSpace(json[end - 1]); end -= 1) if (end % LOOK === 0) await this.#rest();
    return [start, end];
  }

  #text(from: number, to: number): string {
    return UTF8.decode(this.json.subarray(from, to));
  }

  async #rest(): Promise<void> {
    if (performance.now() - this.#restedAt < SLICE_MS) return;
    await setImmediate();
    this.#restedAt = performance.now();
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === BLANK || byte === LINE_FEED || byte === RETURN || byte === TAB;
}
