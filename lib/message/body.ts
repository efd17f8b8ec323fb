import { hash } from 'node:crypto';
import { scan as removeForbiddenKeys } from 'secure-json-parse';
import { isRecord } from '../json/json';
import {
  CharacterSearch,
  endOfLiteral,
  endOfString,
  escapedUnit,
  passSpace,
  textOfLiteral,
} from '../json/scan';
import { isWellFormed } from '../text';

/** A range of a text: start (inclusive) and end (exclusive), in UTF-16 units. */
interface Span {
  start: number;
  end: number;
}

/** Token fields of the outermost object, under the specified name or with a capital first letter. */
export interface TokenReading {
  /** `absent`: none, null or empty. `unusable`: several, not a text, or half of a surrogate pair. */
  kind: 'absent' | 'unusable' | 'text';
  text?: string;
  /**
   * Positions of token values in the text, to redact them before the body is stored. With {@link MAX_SPANS} of them, the last
   * one extends to the end of the text.
   */
  spans: readonly Span[];
}

/** Token fields recorded one by one; two already make the token unusable. */
const MAX_SPANS = 16;

const NO_TOKEN: TokenReading = { kind: 'absent', spans: [] };

/** The name without its first letter, which may be a capital. */
const NAME = 'uthenticationToken';
const [SMALL, CAPITAL] = [codeOf('a'), codeOf('A')];
const [QUOTE, BACKSLASH, COLON] = [codeOf('"'), codeOf('\\'), codeOf(':')];
const [BRACE, BRACKET, END_OF_BRACE, END_OF_BRACKET] = [codeOf('{'), codeOf('['), codeOf('}'), codeOf(']')];
const UNICODE = codeOf('u');
/** Characters to stop at while no token value is expected. */
const TEXT_OR_BRACKET = new CharacterSearch(/["{}[\]]/);
const END_OF_VALUE = new CharacterSearch(/[,"{}[\] \t\n\r]/);

/**
 * Reads the token of a text, which counts only if the parser finds the text well formed. One pass that builds nothing, so the
 * cost of a stranger's text is proportional to its length.
 */
function scanToken(text: string): TokenReading {
  const spans = new TokenScan(text).spans();
  const [span, ...others] = spans;
  if (span === undefined) return NO_TOKEN;
  if (others.length > 0) return { kind: 'unusable', spans };
  const literal = text.slice(span.start, span.end);
  if (literal === 'null' || literal === '""') return { kind: 'absent', spans };
  const token = literal.startsWith('"') ? wellFormedText(literal) : undefined;
  return token === undefined ? { kind: 'unusable', spans } : { kind: 'text', text: token, spans };
}

class TokenScan {
  readonly #spans: Span[] = [];
  #at = 0;
  #depth = 0;
  /** The value of a token comes next. */
  #isDue = false;
  /** Start of a token value that is a list or an object. */
  #nestedFrom = -1;

  constructor(private readonly text: string) {}

  spans(): readonly Span[] {
    const { text } = this;
    while (this.#at < text.length && this.#spans.length < MAX_SPANS) this.#step(text.charCodeAt(this.#at));
    if (this.#nestedFrom >= 0) this.#spans.push({ start: this.#nestedFrom, end: text.length });
    const last = this.#spans[MAX_SPANS - 1];
    if (last !== undefined) last.end = text.length;
    return this.#spans;
  }

  #step(code: number): void {
    if (code === QUOTE) return this.#passString();
    if (isOpening(code)) return this.#enter();
    if (isClosing(code)) return this.#leave();
    if (this.#isDue) return this.#passPlainValue();
    this.#at = TEXT_OR_BRACKET.firstIn(this.text, this.#at + 1);
  }

  #passString(): void {
    const start = this.#at;
    const end = endOfString(this.text, start);
    this.#at = end;
    if (this.#depth !== 1) return;
    if (this.#isDue) {
      this.#note(start, end);
      return;
    }
    const behind = passSpace(this.text, end);
    if (this.text.charCodeAt(behind) !== COLON) return;
    this.#at = behind + 1;
    this.#isDue = isTokenName(this.text, start + 1, end - 1);
    if (this.#isDue) this.#at = passSpace(this.text, this.#at);
  }

  #enter(): void {
    if (this.#isDue) this.#nestedFrom = this.#at;
    this.#isDue = false;
    this.#depth += 1;
    this.#at += 1;
  }

  #leave(): void {
    this.#isDue = false;
    this.#depth = Math.max(0, this.#depth - 1);
    this.#at += 1;
    if (this.#depth === 1 && this.#nestedFrom >= 0) {
      this.#note(this.#nestedFrom, this.#at);
      this.#nestedFrom = -1;
    }
  }

  /** A number, or a word such as null. */
  #passPlainValue(): void {
    const start = this.#at;
    this.#at = END_OF_VALUE.firstIn(this.text, start);
    this.#note(start, this.#at);
  }

  #note(start: number, end: number): void {
    this.#isDue = false;
    this.#spans.push({ start, end });
  }
}

function codeOf(character: string): number {
  return character.charCodeAt(0);
}

function isOpening(code: number): boolean {
  return code === BRACE || code === BRACKET;
}

function isClosing(code: number): boolean {
  return code === END_OF_BRACE || code === END_OF_BRACKET;
}

/** Whether a quoted text names the token field, however escaped; stops at the first difference. */
function isTokenName(text: string, from: number, to: number): boolean {
  let at = from;
  for (let index = -1; index < NAME.length; index += 1) {
    const { code, next } = characterAt(text, at, to);
    const isRight = index < 0 ? code === SMALL || code === CAPITAL : code === NAME.charCodeAt(index);
    if (!isRight) return false;
    at = next;
  }
  return at === to;
}

/** One character of a string literal; of the escapes only those that can encode a letter. */
function characterAt(text: string, at: number, to: number): { code: number; next: number } {
  if (at >= to) return { code: NaN, next: at };
  const code = text.charCodeAt(at);
  if (code !== BACKSLASH) return { code, next: at + 1 };
  if (text.charCodeAt(at + 1) !== UNICODE) return { code: NaN, next: at + 6 };
  return { code: escapedUnit(text, at + 2), next: at + 6 };
}

/** Undefined for a literal that is no JSON, or has half of a surrogate pair: as bytes all are alike. */
function wellFormedText(literal: string): string | undefined {
  const text = textOfLiteral(literal);
  return text !== undefined && isWellFormed(text) ? text : undefined;
}

/** Deepest nesting accepted: far above any message, far below where `JSON.stringify` fails. */
const MAX_DEPTH = 32;
/** Most values accepted, list members included; a message has about thirty. Building them takes time. */
const MAX_VALUES = 1_000;
/**
 * Most strings, numbers, words and punctuation marks together: a text that is no JSON may have any number of them without one
 * more value. A value has four at most: its name, a colon, itself, and a separator or bracket.
 */
const MAX_PIECES = 4 * (MAX_VALUES + 1);

/** Result of one pass over a JSON text that builds nothing from it. */
interface JsonScan {
  /** True where there are too many values, or too many pieces; the rest was not scanned. */
  tooLarge: boolean;
  tooDeep: boolean;
  duplicateKey: boolean;
  /** Numbers that JavaScript cannot hold: too large, too small, or integers beyond 2^53. */
  inexactNumbers: Span[];
}

const NUMBER = /-?[0-9][0-9.eE+-]*/y;
/** `true`, `false`, `null`, or any other word in their position. */
const WORD = /[a-zA-Z]+/y;

/**
 * Scans a text that may be JSON. Does not check whether it is well formed; that is for `JSON.parse`. Works in one pass with a
 * stack of at most {@link MAX_DEPTH} key sets, so no input can exhaust the memory.
 */
function scanJson(text: string): JsonScan {
  return new Scanner(text).run();
}

/** Scalars as in the JSON grammar; anything behind one is then read as the next piece. */
const SCALAR = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;

/**
 * Whether a text is one well-formed JSON object within the limits of depth and pieces. The result equals that of the parser,
 * but a stranger's text never reaches the parser. Builds nothing.
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

  /** Called for commas and opening brackets: each list and object has one value more than it has commas. */
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

  /** Moves behind the colon that makes a string a key; false, without a move, where there is none. */
  #skipColon(): boolean {
    const at = passSpace(this.text, this.#position);
    if (this.text[at] !== ':') return false;
    this.#position = at + 1;
    return true;
  }

  /** Names are limited like values: in well-formed JSON each value has one at most, the outermost none. */
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

/** The value of a string literal; the literal itself where it is malformed. */
function nameOf(literal: string): string {
  return literal.includes('\\') ? (textOfLiteral(literal) ?? literal) : literal.slice(1, -1);
}

/** Shorter digit strings are always exact integers. */
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

/** Why a body cannot be read as one well-formed, unambiguous JSON document. */
export type UnreadableReason = 'not-utf8' | 'not-json' | 'too-large' | 'too-deep' | 'duplicate-key';

/** A body read as JSON, as far as possible. It is made before anything is proven, so its content must not be trusted. */
export interface JsonReading {
  problem?: UnreadableReason;
  /** The document; absent where there is a problem. */
  readonly value?: unknown;
  /** True where keys such as `__proto__` were removed. */
  readonly keysStripped: boolean;
  /** True where a number became a text because JavaScript cannot hold it. */
  readonly numberAsText: boolean;
  /** `authenticationToken` of the envelope. */
  token: TokenReading;
  /** The text without a byte-order mark; absent where the bytes are not UTF-8. */
  text?: string;
}

const BYTE_ORDER_MARK = '\uFEFF';
/** Most byte-order marks before a text. */
export const MOST_MARKS = 2;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a body as JSON when the result is first needed: an unproven body need not be read. */
export function jsonOf(body: Uint8Array): () => JsonReading {
  let reading: JsonReading | undefined;
  return () => (reading ??= readJson(body));
}

/** Reads a body as JSON within the receiver's limits. Never throws; no error quotes the body. */
export function readJson(body: Uint8Array): JsonReading {
  const text = textOf(body);
  if (text === undefined) return unreadable('not-utf8', NO_TOKEN);
  const token = scanToken(text);
  const scan = scanJson(text);
  // Not parsed: the message is delivered to no flow, and only its token depends on whether it is well formed.
  if (scan.tooLarge) return { ...unreadable(scan.tooDeep ? 'too-deep' : 'too-large', token), text };
  const parsed = parse(text);
  if (parsed === undefined) return { ...unreadable('not-json', inBrokenText(token)), text };
  if (scan.tooDeep) return { ...unreadable('too-deep', token), text };
  if (scan.duplicateKey) return { ...unreadable('duplicate-key', token), text };
  return new Document(text, token, scan.inexactNumbers, parsed);
}

/** A body that is one well-formed, unambiguous document; built only when needed, once it is proven. */
class Document implements JsonReading {
  readonly numberAsText: boolean;
  #content: Content | undefined;

  constructor(
    readonly text: string,
    readonly token: TokenReading,
    private readonly inexactNumbers: readonly Span[],
    private readonly parsed: unknown,
  ) {
    this.numberAsText = inexactNumbers.length > 0;
  }

  get value(): unknown {
    return this.#read().value;
  }

  get keysStripped(): boolean {
    return this.#read().keysStripped;
  }

  #read(): Content {
    return (this.#content ??= this.#contentOf(
      this.numberAsText ? parse(quoteSpans(this.text, this.inexactNumbers)) : this.parsed,
    ));
  }

  #contentOf(value: unknown): Content {
    return { keysStripped: stripKeys(value), value };
  }
}

interface Content {
  value: unknown;
  keysStripped: boolean;
}

/** The same reading with another token, for a body whose token was redacted. */
export function withToken(reading: JsonReading, token: TokenReading): JsonReading {
  const { problem, value, keysStripped, numberAsText, text } = reading;
  return { ...(problem && { problem }), value, keysStripped, numberAsText, token, ...(text && { text }) };
}

function unreadable(problem: UnreadableReason, token: TokenReading): JsonReading {
  return { problem, token, keysStripped: false, numberAsText: false };
}

/**
 * The apparent token of an unproven body; it is the token if the body is well-formed JSON. Nothing is parsed or built, so a
 * stranger's body costs little more than its hash.
 */
export function unverifiedToken(body: Uint8Array): TokenReading {
  const text = textOf(body);
  return text === undefined ? NO_TOKEN : scanToken(text);
}

/**
 * Text and apparent token of a body that may be stored; undefined where it is no well-formed object, because a token could then
 * be anywhere in it.
 */
export function seemingObject(body: Uint8Array): Required<Pick<JsonReading, 'text' | 'token'>> | undefined {
  const text = textOf(body);
  return text !== undefined && isObjectText(text) ? { text, token: scanToken(text) } : undefined;
}

/** A token counts only in a well-formed document: parsers read a malformed one differently. */
function inBrokenText({ spans }: TokenReading): TokenReading {
  return { kind: spans.length === 0 ? 'absent' : 'unusable', spans };
}

/**
 * The text without byte-order marks; undefined where the bytes are not UTF-8. Two marks occur where a sender adds one to a text
 * that has one.
 */
function textOf(body: Uint8Array): string | undefined {
  try {
    const text = utf8.decode(body);
    let marks = 0;
    while (marks < MOST_MARKS && text.startsWith(BYTE_ORDER_MARK, marks)) marks += 1;
    return text.slice(marks);
  } catch {
    return undefined;
  }
}

/** Undefined where the text is not JSON; no JSON text has that value. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the input, which may contain the phrase.
    return undefined;
  }
}

/** Quotes the numbers that JavaScript cannot hold, so that they are retained exactly, as text. */
function quoteSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of spans) {
    pieces.push(text.slice(from, start), '"', text.slice(start, end), '"');
    from = end;
  }
  return [...pieces, text.slice(from)].join('');
}

/** Removes `__proto__` and `constructor.prototype` from the document; true where there were any. */
function stripKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const document: { [key: string]: unknown } = Object(value);
  const found = removeForbiddenKeys(document, { safe: true }) === null;
  if (found) removeForbiddenKeys(document, { protoAction: 'remove', constructorAction: 'remove' });
  return found;
}

/**
 * The body in the form that may be stored: values of token fields redacted, everything else unchanged, except that a byte-order
 * mark is removed. Without a token the bytes themselves. With {@link MAX_SPANS} token fields the text ends at the last of them.
 */
export function redactedBody(body: Uint8Array, json: Pick<JsonReading, 'text' | 'token'>): Uint8Array {
  const { spans, kind } = json.token;
  if (json.text === undefined || kind === 'absent') return body;
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of spans) {
    pieces.push(json.text.slice(from, start), '"***"');
    from = end;
  }
  return Buffer.from(pieces.join('') + json.text.slice(from), 'utf8');
}

/** SHA-256 (hex) of bytes. */
export function fingerprintOfBytes(bytes: Uint8Array): string {
  return hash('sha256', bytes);
}

/**
 * SHA-256 (hex) of a JSON value, independent of the order of keys and of white space, because a resend may be serialised anew.
 * The reader of the message has bounded the depth of the value.
 */
export function fingerprintOfValue(value: unknown): string {
  return hash('sha256', JSON.stringify(inOrder(value)) ?? 'null');
}

/** Replaces objects by lists of sorted names and values; the first entry of each list marks its kind. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return ['[', ...value.map(inOrder)];
  if (!isRecord(value)) return value;
  const list: unknown[] = ['{'];
  for (const name of Object.keys(value).sort()) list.push(name, inOrder(value[name]));
  return list;
}
