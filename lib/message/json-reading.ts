import { scan as removeForbiddenKeys } from 'secure-json-parse';
import { isObjectText, scanJson } from './json-scan';
import { NO_TOKEN, scanToken, type Span, type TokenReading } from './token-scan';

/** Why a body cannot be read as one well-formed, unambiguous JSON document. */
export type UnreadableReason = 'not-utf8' | 'not-json' | 'too-large' | 'too-deep' | 'duplicate-key';

/** A body read as JSON, as far as it goes. Made before anything is proven, so nothing of it may be trusted. */
export interface JsonReading {
  problem?: UnreadableReason;
  /** The document; absent where there is a problem. */
  readonly value?: unknown;
  /** True where keys such as `__proto__` were removed. */
  readonly keysStripped: boolean;
  /** True where a number was kept as text because JavaScript cannot hold it. */
  readonly numberAsText: boolean;
  /** `authenticationToken` of the envelope. */
  token: TokenReading;
  /** The text without a byte-order mark; absent where the bytes are not UTF-8. */
  text?: string;
}

const BYTE_ORDER_MARK = '\uFEFF';
/** Byte-order marks that may stand before a text. */
export const MOST_MARKS = 2;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A body, read as JSON when that is first asked for: what nothing proves need not be read. */
export function jsonOf(body: Uint8Array): () => JsonReading {
  let reading: JsonReading | undefined;
  return () => (reading ??= readJson(body));
}

/** Reads a body as JSON under the bounds of the receiver. Never throws; no text of the body leaves in an error. */
export function readJson(body: Uint8Array): JsonReading {
  const text = textOf(body);
  if (text === undefined) return unreadable('not-utf8', NO_TOKEN);
  const token = scanToken(text);
  const scan = scanJson(text);
  // Whether it is well formed only its token depends on: it is delivered to no flow.
  if (scan.tooLarge) return { ...unreadable(scan.tooDeep ? 'too-deep' : 'too-large', token), text };
  const parsed = parse(text);
  if (parsed === undefined) return { ...unreadable('not-json', inBrokenText(token)), text };
  if (scan.tooDeep) return { ...unreadable('too-deep', token), text };
  if (scan.duplicateKey) return { ...unreadable('duplicate-key', token), text };
  return new Document(text, token, scan.inexactNumbers, parsed);
}

/** A body that is one well-formed, unambiguous document. Only a proven one is worth the time that its content takes. */
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

/** The same with another token, where that was blanked in the body. */
export function withToken(reading: JsonReading, token: TokenReading): JsonReading {
  const { problem, value, keysStripped, numberAsText, text } = reading;
  return { ...(problem && { problem }), value, keysStripped, numberAsText, token, ...(text && { text }) };
}

function unreadable(problem: UnreadableReason, token: TokenReading): JsonReading {
  return { problem, token, keysStripped: false, numberAsText: false };
}

/**
 * What seems to be the token of a body that nothing has proved: it is that where the body is well-formed JSON. Nothing is parsed
 * or built for it, so a stranger's body costs little more than its hash.
 */
export function seemingToken(body: Uint8Array): TokenReading {
  const text = textOf(body);
  return text === undefined ? NO_TOKEN : scanToken(text);
}

/** What the same scan finds in a body that may be kept; undefined where it is no well-formed object: a token may stand anywhere in it. */
export function seemingObject(body: Uint8Array): Required<Pick<JsonReading, 'text' | 'token'>> | undefined {
  const text = textOf(body);
  return text !== undefined && isObjectText(text) ? { text, token: scanToken(text) } : undefined;
}

/** A token counts only in a well-formed document: where it is not, parsers differ about what it says. */
function inBrokenText({ spans }: TokenReading): TokenReading {
  return { kind: spans.length === 0 ? 'absent' : 'unusable', spans };
}

/** Without byte-order marks; undefined where the bytes are not UTF-8. A second one has who puts one before a text that has one. */
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

/** Undefined where the text is not JSON, for no JSON text stands for that value. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the input, which may hold the phrase.
    return undefined;
  }
}

/** Puts quotes around the numbers that JavaScript cannot hold, so that they stay what was sent: as text. */
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
