/** Deepest nesting that is read: far above any message, far below what brings `JSON.stringify` down. */
const MAX_DEPTH = 32;

/** A piece of the scanned text: start (inclusive) and end (exclusive), in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

/** A value at the top level of the outermost object. */
export interface TopLevelField {
  key: string;
  value: Span;
}

/** What one pass over a JSON text shows, without building anything from it. */
export interface JsonScan {
  tooDeep: boolean;
  duplicateKey: boolean;
  /** Numbers that JavaScript cannot hold: too large, too small, or integers beyond 2^53. */
  inexactNumbers: Span[];
  /** Members of the outermost object, repeated ones too; of a nested value only its first character. */
  topLevel: TopLevelField[];
}

const NUMBER = /-?[0-9][0-9.eE+-]*/y;
const WORD = /[A-Za-z]+/y;

/**
 * Scans a text that may be JSON. Says nothing about whether it is well formed: that is for `JSON.parse`.
 * Works in one pass with a stack of at most {@link MAX_DEPTH} key sets, so no input can exhaust it.
 */
export function scanJson(text: string): JsonScan {
  return new Scanner(text).run();
}

class Scanner {
  readonly #result: JsonScan = {
    tooDeep: false,
    duplicateKey: false,
    inexactNumbers: [],
    topLevel: [],
  };
  /** Keys seen in each open container; `undefined` for an array. */
  readonly #open: (Set<string> | undefined)[] = [];
  #depth = 0;
  #position = 0;
  #pendingKey: string | undefined;

  constructor(private readonly text: string) {}

  run(): JsonScan {
    while (this.#position < this.text.length) this.#step();
    return this.#result;
  }

  #step(): void {
    const character = this.text[this.#position] ?? '';
    if (character === '"') return this.#readString();
    if (character === ',' || isSpace(character)) return void this.#position++;
    if (character === '{' || character === '[') return this.#enter(character === '{');
    if (character === '}' || character === ']') return this.#leave();
    const number = this.#match(NUMBER);
    if (number !== undefined) return this.#readNumber(number);
    const word = this.#match(WORD);
    if (word !== undefined) return this.#readWord(word);
    this.#position++;
  }

  #enter(isObject: boolean): void {
    this.#noteTopLevelValue(this.#position, this.#position + 1);
    this.#depth++;
    if (this.#depth > MAX_DEPTH) this.#result.tooDeep = true;
    else this.#open.push(isObject ? new Set() : undefined);
    this.#position++;
  }

  #leave(): void {
    if (this.#depth > 0 && this.#depth <= MAX_DEPTH) this.#open.pop();
    this.#depth = Math.max(0, this.#depth - 1);
    this.#position++;
    const last = this.#result.topLevel.at(-1);
    if (this.#depth === 1 && last !== undefined) last.value.end = this.#position;
  }

  #readString(): void {
    const start = this.#position;
    const end = endOfString(this.text, start);
    this.#position = end;
    if (this.#skipColon()) this.#noteKey(start, end);
    else this.#noteTopLevelValue(start, end);
  }

  /** Moves behind the colon that makes a string a key; false, and no move, where there is none. */
  #skipColon(): boolean {
    let at = this.#position;
    while (isSpace(this.text[at])) at++;
    if (this.text[at] !== ':') return false;
    this.#position = at + 1;
    return true;
  }

  #noteKey(start: number, end: number): void {
    const keys = this.#depth > MAX_DEPTH ? undefined : this.#open.at(-1);
    if (keys === undefined) return;
    const key = nameOf(this.text.slice(start, end));
    if (keys.has(key)) this.#result.duplicateKey = true;
    keys.add(key);
    this.#pendingKey = this.#depth === 1 ? key : undefined;
  }

  #noteTopLevelValue(start: number, end: number): void {
    if (this.#depth === 1 && this.#pendingKey !== undefined) {
      this.#result.topLevel.push({ key: this.#pendingKey, value: { start, end } });
    }
    this.#pendingKey = undefined;
  }

  #match(pattern: RegExp): Span | undefined {
    pattern.lastIndex = this.#position;
    return pattern.test(this.text) ? { start: this.#position, end: pattern.lastIndex } : undefined;
  }

  #readWord(span: Span): void {
    this.#noteTopLevelValue(span.start, span.end);
    this.#position = span.end;
  }

  #readNumber(span: Span): void {
    this.#noteTopLevelValue(span.start, span.end);
    if (!isExact(this.text.slice(span.start, span.end))) this.#result.inexactNumbers.push(span);
    this.#position = span.end;
  }
}

/** End of the string literal that begins at `start`; the end of the text where it is not closed. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    if (!isEscaped(text, quote, at)) return quote + 1;
    at = quote + 1;
  }
}

/** True where an odd number of backslashes stands before a character, none of them before `from`. */
function isEscaped(text: string, at: number, from: number): boolean {
  let backslash = at - 1;
  while (backslash >= from && text[backslash] === '\\') backslash--;
  return (at - backslash) % 2 === 0;
}

/** Longest literal that is decoded: a name of the service with every character escaped is shorter. */
const MAX_ESCAPED_NAME = 256;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/g;
const PLAIN_LITERAL = /^"[^"\\\p{Cc}]*"$/u;

/**
 * The name that a string literal stands for; the literal itself where it is broken, or escaped and long. The parser is
 * spared what it would not take: a hundred thousand of its errors take a second, in which no alarm is answered.
 */
function nameOf(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  if (literal.length > MAX_ESCAPED_NAME || !PLAIN_LITERAL.test(literal.replace(ESCAPE, ''))) return literal;
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
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

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\n' || character === '\r';
}
