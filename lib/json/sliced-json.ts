import { setImmediate } from 'node:timers/promises';
import sjson from 'secure-json-parse';

/** Characters that the parser gets at a time. */
const PIECE = 32 * 1024;
/** Characters that are looked at between two looks at the clock. */
const LOOK = 8 * 1024;
/** Milliseconds without a pause. */
const SLICE_MS = 3;

/** A JSON text that opens too many objects and lists inside each other. */
export class TooDeepError extends Error {}

/**
 * Parses a long JSON text without holding up others: in pieces, with pauses in between. Keys that would reach into prototypes are
 * left out, as `secure-json-parse` does.
 * @param deepest objects and lists that may be inside each other
 * @throws TooDeepError; SyntaxError where it is no JSON
 */
export async function parseInSlices(text: string, deepest: number): Promise<unknown> {
  return new SlicedParse(text).value(0, text.length, deepest);
}

/** The parser of short texts, with the same rules. @throws SyntaxError */
export function parseSafely(text: string): unknown {
  const value: unknown = sjson.parse(text, undefined, { protoAction: 'remove', constructorAction: 'remove' });
  return value;
}

class SlicedParse {
  #restedAt = -Infinity;

  constructor(private readonly text: string) {}

  /** @param deepest of what begins here */
  async value(from: number, to: number, deepest: number): Promise<unknown> {
    const { text } = this;
    const [start, end] = withoutSpace(text, from, to);
    const opening = text[start];
    if (opening !== '[' && opening !== '{') {
      await this.#rest();
      // Not `parseSafely`, which takes off a byte-order mark: behind one, all of a list would be parsed at once.
      return JSON.parse(text.slice(start, end));
    }
    if (text[end - 1] !== (opening === '[' ? ']' : '}')) throw new SyntaxError('It does not end.');
    const members = opening === '[' ? new ListMembers() : new RecordMembers();
    for (let at = start + 1; ;) {
      const pieceEnd = await this.#endOfPiece(at, end - 1, deepest - 1);
      await this.#take(
        members,
        { from: at, to: pieceEnd, isAll: at === start + 1 && pieceEnd === end - 1 },
        deepest - 1,
      );
      if (pieceEnd === end - 1) return members.value;
      at = pieceEnd + 1;
    }
  }

  async #take(
    members: ListMembers | RecordMembers,
    { from, to, isAll }: { from: number; to: number; isAll: boolean },
    deepest: number,
  ): Promise<void> {
    const piece = this.text.slice(from, to);
    if (!isAll && piece.trim() === '') throw new SyntaxError('A comma has nothing on one side.');
    if (piece.length <= 2 * PIECE) {
      members.addPiece(piece);
      return;
    }
    const valueFrom = members.endOfKey(this.text, from);
    members.addOne(this.text.slice(from, valueFrom), await this.value(valueFrom, to, deepest));
  }

  /** Where members end that make a piece, or one that is longer: at a comma, or at the end of them all. */
  async #endOfPiece(from: number, to: number, deepest: number): Promise<number> {
    const { text } = this;
    let depth = 0;
    let isInString = false;
    let lastComma = -1;
    for (let at = from; at < to; at += 1) {
      if (at % LOOK === 0) await this.#rest();
      const character = text[at];
      if (isInString) {
        if (character === '\\') at += 1;
        else if (character === '"') isInString = false;
      } else if (character === '"') isInString = true;
      else if (character === '{' || character === '[') depth += 1;
      else if (character === '}' || character === ']') depth -= 1;
      else if (character === ',' && depth === 0) {
        if (at - from > PIECE) return lastComma < 0 ? at : lastComma;
        lastComma = at;
      }
      if (depth > deepest) throw new TooDeepError('It is nested too deep.');
    }
    return to - from > PIECE && lastComma >= 0 ? lastComma : to;
  }

  async #rest(): Promise<void> {
    if (performance.now() - this.#restedAt < SLICE_MS) return;
    await setImmediate();
    this.#restedAt = performance.now();
  }
}

class ListMembers {
  readonly value: unknown[] = [];

  addPiece(piece: string): void {
    const members = parseSafely(`[${piece}]`);
    if (Array.isArray(members)) for (const member of members) this.value.push(member);
  }

  addOne(_key: string, member: unknown): void {
    this.value.push(member);
  }

  endOfKey(_text: string, from: number): number {
    return from;
  }
}

class RecordMembers {
  readonly value: Record<string, unknown> = {};

  addPiece(piece: string): void {
    Object.assign(this.value, parseSafely(`{${piece}}`));
  }

  /** @param key with its colon */
  addOne(key: string, member: unknown): void {
    // Whether the key may be there depends on what a value of its kind holds.
    const holdsPrototype =
      typeof member === 'object' && member !== null && Object.hasOwn(member, 'prototype');
    Object.assign(
      this.value,
      mapped(parseSafely(`{${key}${holdsPrototype ? '{"prototype":0}' : '0'}}`), member),
    );
  }

  /** Behind the colon of the first member. */
  endOfKey(text: string, from: number): number {
    let at = text.indexOf('"', from) + 1;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    const colon = text.indexOf(':', at);
    if (at === 0 || colon < 0) throw new SyntaxError('A key is missing.');
    return colon + 1;
  }
}

/** A record with another value in place of each of its own. */
function mapped(record: unknown, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.keys(Object(record)).map((key) => [key, value]));
}

function withoutSpace(text: string, from: number, to: number): [start: number, end: number] {
  let [start, end] = [from, to];
  while (start < end && isSpace(text[start])) start += 1;
  while (end > start && isSpace(text[end - 1])) end -= 1;
  return [start, end];
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\n' || character === '\r';
}
