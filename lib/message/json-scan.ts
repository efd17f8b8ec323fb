import { endOfLiteral, endOfString, passSpace, textOfLiteral } from '../json/scan';
import type { Span } from './token-scan';

/** Deepest nesting that is read: far above any message, far below what brings `JSON.stringify` down. */
const MAX_DEPTH = 32;
/** Most values that are read, those in lists included: a message has some thirty. What builds objects takes time for each. */
const MAX_VALUES = 1_000;
/**
 * Most texts, numbers, words and signs between them: what is no JSON may have any number of these without a value more. For each
 * value there are four at the most: its name, a colon, itself, and what separates or closes.
 */
const MAX_PIECES = 4 * (MAX_VALUES + 1);

/** What one pass over a JSON text shows, without building anything from it. */
export interface JsonScan {
  /** It has too many values, or what looks like their pieces; the rest was not looked at. */
  tooLarge: boolean;
  tooDeep: boolean;
  duplicateKey: boolean;
  /** Numbers that JavaScript cannot hold: too large, too small, or integers beyond 2^53. */
  inexactNumbers: Span[];
}

const NUMBER = /-?[0-9][0-9.eE+-]*/y;
/** `true`, `false`, `null`, or what stands in their place. */
const WORD = /[a-zA-Z]+/y;

/**
 * Scans a text that may be JSON. Says nothing about whether it is well formed: that is for `JSON.parse`.
 * Works in one pass with a stack of at most {@link MAX_DEPTH} key sets, so no input can exhaust it.
 */
export function scanJson(text: string): JsonScan {
  return new Scanner(text).run();
}

/** As the grammar of JSON has them; what comes behind one is looked at as what comes next. */
const SCALAR = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;

/**
 * Whether a text is one well-formed JSON object, no deeper and of no more pieces than what is read: the same as the parser says, which
 * a stranger's text does not reach. Builds nothing.
 */
export function isObjectText(text: string): boolean {
  return text[passSpace(text, 0)] === '{' && new Grammar(text).isOneValue();
}

class Grammar {
  readonly #open: string[] = [];
  #due: 'value' | 'value or end' | 'name' | 'name or end' | 'comma or end' = 'value';
  #at = 0;

  constructor(private readonly text: string) {}

  isOneValue(): boolean {
    for (let pieces = 0; pieces < MAX_PIECES; pieces += 1) {
      this.#at = passSpace(this.text, this.#at);
      if (!this.#pass(this.text[this.#at] ?? '')) return false;
      if (this.#open.length === 0) return passSpace(this.text, this.#at) === this.text.length;
    }
    return false;
  }

  #pass(character: string): boolean {
    if (character === '}' || character === ']') return this.#leave(character === '}' ? '{' : '[');
    if (this.#due === 'comma or end') return this.#passComma(character);
    if (this.#due === 'name' || this.#due === 'name or end') return this.#passName();
    if (character === '{' || character === '[') return this.#enter(character);
    this.#due = 'comma or end';
    if (character === '"') return this.#moveTo(endOfLiteral(this.text, this.#at));
    SCALAR.lastIndex = this.#at;
    return SCALAR.test(this.text) && this.#moveTo(SCALAR.lastIndex);
  }

  #enter(bracket: string): boolean {
    this.#due = bracket === '{' ? 'name or end' : 'value or end';
    return this.#open.push(bracket) <= MAX_DEPTH && this.#moveTo(this.#at + 1);
  }

  #leave(bracket: string): boolean {
    const mayEnd = this.#due.endsWith('end');
    this.#due = 'comma or end';
    return mayEnd && this.#open.pop() === bracket && this.#moveTo(this.#at + 1);
  }

  #passComma(character: string): boolean {
    this.#due = this.#open.at(-1) === '{' ? 'name' : 'value';
    return character === ',' && this.#moveTo(this.#at + 1);
  }

  #passName(): boolean {
    this.#due = 'value';
    const end = this.text[this.#at] === '"' ? endOfLiteral(this.text, this.#at) : -1;
    const colon = end < 0 ? -1 : passSpace(this.text, end);
    return this.text[colon] === ':' && this.#moveTo(colon + 1);
  }

  #moveTo(at: number): boolean {
    this.#at = at;
    return at >= 0;
  }
}

class Scanner {
  readonly #result: JsonScan = {
    tooLarge: false,
    tooDeep: false,
    duplicateKey: false,
    inexactNumbers: [],
  };
  /** Keys seen in each open container; `undefined` for an array. */
  readonly #open: (Set<string> | undefined)[] = [];
  #depth = 0;
  #position = 0;
  #values = 0;
  #names = 0;
  #pieces = 0;

  constructor(private readonly text: string) {}

  run(): JsonScan {
    while (this.#position < this.text.length && !this.#result.tooLarge) this.#step();
    return this.#result;
  }

  #step(): void {
    this.#position = passSpace(this.text, this.#position);
    const character = this.text[this.#position];
    if (character === undefined) return;
    this.#result.tooLarge ||= ++this.#pieces > MAX_PIECES;
    if (character === '"') return this.#readString();
    if (character === ',') return this.#count();
    if (character === '{' || character === '[') return this.#enter(character === '{');
    if (character === '}' || character === ']') return this.#leave();
    const number = startsNumber(character) ? this.#match(NUMBER) : undefined;
    if (number !== undefined) return this.#readNumber(number);
    this.#position = this.#match(WORD)?.end ?? this.#position + 1;
  }

  /** Of each list and object there is one value more than there are commas. */
  #count(): void {
    this.#values += 1;
    this.#result.tooLarge ||= this.#values > MAX_VALUES;
    this.#position++;
  }

  #enter(isObject: boolean): void {
    this.#depth++;
    if (this.#depth > MAX_DEPTH) this.#result.tooDeep = true;
    else this.#open.push(isObject ? new Set() : undefined);
    this.#count();
  }

  #leave(): void {
    if (this.#depth > 0 && this.#depth <= MAX_DEPTH) this.#open.pop();
    this.#depth = Math.max(0, this.#depth - 1);
    this.#position++;
  }

  #readString(): void {
    const start = this.#position;
    const end = endOfString(this.text, start);
    this.#position = end;
    if (this.#skipColon()) this.#noteKey(start, end);
  }

  /** Moves behind the colon that makes a string a key; false, and no move, where there is none. */
  #skipColon(): boolean {
    const at = passSpace(this.text, this.#position);
    if (this.text[at] !== ':') return false;
    this.#position = at + 1;
    return true;
  }

  /** No more names than values: in a well-formed document each value has one at the most, and the outermost none. */
  #noteKey(start: number, end: number): void {
    this.#result.tooLarge ||= ++this.#names > MAX_VALUES;
    const keys = this.#depth > MAX_DEPTH ? undefined : this.#open.at(-1);
    if (keys === undefined) return;
    const key = nameOf(this.text.slice(start, end));
    if (keys.has(key)) this.#result.duplicateKey = true;
    keys.add(key);
  }

  #match(pattern: RegExp): Span | undefined {
    pattern.lastIndex = this.#position;
    return pattern.test(this.text) ? { start: this.#position, end: pattern.lastIndex } : undefined;
  }

  #readNumber(span: Span): void {
    if (!isExact(this.text.slice(span.start, span.end))) this.#result.inexactNumbers.push(span);
    this.#position = span.end;
  }
}

/** The name that a string literal stands for; the literal itself where it is broken. */
function nameOf(literal: string): string {
  return literal.includes('\\') ? (textOfLiteral(literal) ?? literal) : literal.slice(1, -1);
}

/** Shorter texts of digits are exact integers, whatever they are. */
const SHORT_INTEGER = /^-?\d{1,15}$/;

function isExact(literal: string): boolean {
  if (SHORT_INTEGER.test(literal)) return true;
  const value = Number(literal);
  if (Number.isNaN(value)) return true;
  if (!Number.isFinite(value)) return false;
  if (value === 0) return !/[1-9]/.test(literal.split(/[eE]/, 1)[0] ?? '');
  return !/^-?\d+$/.test(literal) || Number.isSafeInteger(value);
}

function startsNumber(character: string): boolean {
  return character === '-' || (character >= '0' && character <= '9');
}
