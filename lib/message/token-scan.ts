import { CharacterSearch, endOfString, escapedUnit, passSpace, textOfLiteral } from '../json/scan';
import { isWellFormed } from '../text';

/** A piece of a text: start (inclusive) and end (exclusive), in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

/** The token fields of the outermost object: the specification's name, or with a capital first letter. */
export interface TokenReading {
  /** `absent`: no such field, null or an empty text. `unusable`: more than one, or not a text; half of a surrogate pair is none. */
  kind: 'absent' | 'unusable' | 'text';
  text?: string;
  /**
   * Where token values stand in the text, to blank them before the body is kept. Where there are {@link MAX_SPANS}, the last is
   * all that follows.
   */
  spans: readonly Span[];
}

/** Token fields that are told apart: two are too many already. */
const MAX_SPANS = 16;

export const NO_TOKEN: TokenReading = { kind: 'absent', spans: [] };

/** Behind its first letter, which may be a capital. */
const NAME = 'uthenticationToken';
const [SMALL, CAPITAL] = [codeOf('a'), codeOf('A')];
const [QUOTE, BACKSLASH, COLON] = [codeOf('"'), codeOf('\\'), codeOf(':')];
const [BRACE, BRACKET, END_OF_BRACE, END_OF_BRACKET] = [codeOf('{'), codeOf('['), codeOf('}'), codeOf(']')];
const UNICODE = codeOf('u');
/** What is looked at where no token is due. */
const TEXT_OR_BRACKET = new CharacterSearch(/["{}[\]]/);
const END_OF_VALUE = new CharacterSearch(/[,"{}[\] \t\n\r]/);

/**
 * What a text says of its token, if it is well-formed JSON: it is for the parser to say that. One pass that builds nothing, so
 * that a stranger's text costs no more than its length.
 */
export function scanToken(text: string): TokenReading {
  const spans = new TokenScan(text).spans();
  const [span, ...others] = spans;
  if (span === undefined) return NO_TOKEN;
  if (others.length > 0) return { kind: 'unusable', spans };
  const literal = text.slice(span.start, span.end);
  if (literal === 'null' || literal === '""') return { kind: 'absent', spans };
  const token = literal.startsWith('"') ? textOf(literal) : undefined;
  return token === undefined ? { kind: 'unusable', spans } : { kind: 'text', text: token, spans };
}

class TokenScan {
  readonly #spans: Span[] = [];
  #at = 0;
  #depth = 0;
  /** A token's value comes next. */
  #isDue = false;
  /** Where the value of a token began that is a list or an object. */
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

/** Whether what stands between quotes is the name of the token field, however it is escaped. Ends at the first difference. */
function isTokenName(text: string, from: number, to: number): boolean {
  let at = from;
  for (let place = -1; place < NAME.length; place += 1) {
    const { code, next } = characterAt(text, at, to);
    const isRight = place < 0 ? code === SMALL || code === CAPITAL : code === NAME.charCodeAt(place);
    if (!isRight) return false;
    at = next;
  }
  return at === to;
}

/** One character of a string literal; of the escapes only those that can stand for a letter. */
function characterAt(text: string, at: number, to: number): { code: number; next: number } {
  if (at >= to) return { code: NaN, next: at };
  const code = text.charCodeAt(at);
  if (code !== BACKSLASH) return { code, next: at + 1 };
  if (text.charCodeAt(at + 1) !== UNICODE) return { code: NaN, next: at + 6 };
  return { code: escapedUnit(text, at + 2), next: at + 6 };
}

/** Undefined for a literal that is no JSON, or of which no bytes can be made: all halves of surrogate pairs would be alike. */
function textOf(literal: string): string | undefined {
  const text = textOfLiteral(literal);
  return text !== undefined && isWellFormed(text) ? text : undefined;
}
