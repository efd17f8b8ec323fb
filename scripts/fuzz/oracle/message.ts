import { isUtf8 } from 'node:buffer';
import { createHmac } from 'node:crypto';

/** Text of a body, without the marks that a sender may put before it, two at most; undefined where the bytes are not UTF-8. */
function bodyText(body: Uint8Array): string | undefined {
  return isUtf8(body) ? Buffer.from(withoutMarks(body).at(-1) ?? body).toString('utf8') : undefined;
}

/** A body as it came, and without one and two marks where it has them. */
function withoutMarks(body: Uint8Array): Uint8Array[] {
  const count = hasMark(body, 0) ? (hasMark(body, 3) ? 2 : 1) : 0;
  return [0, 1, 2].slice(0, count + 1).map((marks) => body.subarray(3 * marks));
}

function hasMark(body: Uint8Array, at: number): boolean {
  return body[at] === 0xef && body[at + 1] === 0xbb && body[at + 2] === 0xbf;
}

/** A JSON document as it was written: with names that come twice, and numbers as they stand. */
export type Document =
  | { kind: 'object'; members: readonly (readonly [name: string, value: Document])[] }
  | { kind: 'list'; elements: readonly Document[] }
  | { kind: 'number'; literal: string }
  | { kind: 'word'; value: string | boolean | null };

const LEXEMES = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Undefined where the text is not JSON, of which `JSON.parse` is the judge. */
export function documentIn(text: string): Document | undefined {
  if (!isJson(text)) return undefined;
  return new Lexemes(text.match(LEXEMES) ?? []).document();
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What `JSON.parse` makes of it, but for what `numberOf` makes of each number, and without the members that are dropped. */
export function valueOf(
  document: Document,
  numberOf: (literal: string) => unknown,
  isDropped: (name: string, value: unknown) => boolean,
): unknown {
  if (document.kind === 'word') return document.value;
  if (document.kind === 'number') return numberOf(document.literal);
  if (document.kind === 'list')
    return document.elements.map((element) => valueOf(element, numberOf, isDropped));
  const held = Object.fromEntries(
    document.members.map(([name, value]) => [name, valueOf(value, numberOf, isDropped)]),
  );
  const isKept = ([name, value]: [string, unknown]): boolean => !isDropped(name, value);
  const entries = Object.entries<unknown>(held);
  return entries.every(isKept) ? held : Object.fromEntries(entries.filter(isKept));
}

/** Lists and objects inside each other. */
export function depthOf(document: Document): number {
  if (document.kind !== 'object' && document.kind !== 'list') return 0;
  return 1 + childrenOf(document).reduce((deepest, child) => Math.max(deepest, depthOf(child)), 0);
}

/** The document and all that is in it. */
export function partsOf(document: Document): Document[] {
  const parts = [document];
  // Grows while it is walked through.
  for (const part of parts) for (const child of childrenOf(part)) parts.push(child);
  return parts;
}

function childrenOf(document: Document): readonly Document[] {
  if (document.kind === 'list') return document.elements;
  return document.kind === 'object' ? document.members.map(([, value]) => value) : [];
}

/** Reads what is known to be well formed. */
class Lexemes {
  #at = 0;

  constructor(private readonly all: readonly string[]) {}

  document(): Document {
    const lexeme = this.#next();
    if (lexeme === '{') return { kind: 'object', members: this.#members() };
    if (lexeme === '[') return { kind: 'list', elements: this.#elements() };
    if (/^[-\d]/.test(lexeme)) return { kind: 'number', literal: lexeme };
    return { kind: 'word', value: wordOf(lexeme) };
  }

  #members(): [string, Document][] {
    const members: [string, Document][] = [];
    for (let lexeme = this.#next(); lexeme !== '}'; lexeme = this.#next()) {
      if (lexeme === ',') continue;
      const name = textIn(lexeme);
      this.#next();
      members.push([name, this.document()]);
    }
    return members;
  }

  #elements(): Document[] {
    const elements: Document[] = [];
    for (; this.all[this.#at] !== ']';) {
      if (this.all[this.#at] === ',') this.#at += 1;
      else elements.push(this.document());
    }
    this.#at += 1;
    return elements;
  }

  #next(): string {
    const lexeme = this.all[this.#at];
    if (lexeme === undefined) throw new Error('The oracle has lost its place in a document.');
    this.#at += 1;
    return lexeme;
  }
}

function wordOf(lexeme: string): string | boolean | null {
  if (lexeme === 'null') return null;
  return lexeme.startsWith('"') ? textIn(lexeme) : lexeme === 'true';
}

function textIn(lexeme: string): string {
  return lexeme.includes('\\') ? String(JSON.parse(lexeme)) : lexeme.slice(1, -1);
}

/** What the specification and the cases say of an authentic body (section 2; C-73, C-110, C-120, C-121). */
export type Usability =
  | { usable: true; messageId: string; isAlarm: boolean }
  | { usable: false }
  /** A field in both spellings: whether they say the same is told apart nowhere. */
  | { usable: undefined };

const LONGEST_ID = 512;

export function usabilityOf(body: Uint8Array): Usability {
  const content = contentOf(body);
  if (content.kind !== 'read') return { usable: false };
  const fields = fieldsOf(content.value);
  if (fields === undefined) return { usable: false };
  const payload = fieldsOf(fieldOf(fields, 'payload'));
  if (hasBothSpellings(fields) || (payload !== undefined && hasBothSpellings(payload)))
    return { usable: undefined };
  const messageId = keptId(fieldOf(fields, 'messageId'));
  const type = fieldOf(fields, 'payloadType');
  const version = fieldOf(fields, 'version') ?? '';
  if (typeof type !== 'string' || type === '') return { usable: false };
  if (typeof version !== 'string' && typeof version !== 'number') return { usable: false };
  const isAlarm = /^blueevent$/i.test(type);
  if (isAlarm && payload === undefined) return { usable: false };
  if (typeof messageId !== 'string' || messageId === '' || messageId.length > LONGEST_ID)
    return { usable: false };
  return { usable: true, messageId, isAlarm };
}

/** With half of a surrogate pair it is kept as JSON writes it. */
function keptId(value: unknown): unknown {
  return typeof value === 'string' && !value.isWellFormed() ? JSON.stringify(value) : value;
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return new Map<string, unknown>(Object.entries(value));
}

/** Samples write `Version`: either case of the first letter is taken. */
function fieldOf(fields: ReadonlyMap<string, unknown>, name: string): unknown {
  return fields.has(name) ? fields.get(name) : fields.get(name.charAt(0).toUpperCase() + name.slice(1));
}

function hasBothSpellings(fields: ReadonlyMap<string, unknown>): boolean {
  const folded = [...fields.keys()].map((name) => name.charAt(0).toLowerCase() + name.slice(1));
  return new Set(folded).size < folded.length;
}

/** What a body is, within the bounds of the receiver. */
export type Content =
  | { kind: 'not-utf8' }
  /** `isShort`: too short to be beyond a bound, so that it can be nothing else. */
  | { kind: 'not-json'; isShort: boolean }
  /** Beyond a bound, or with a name twice in one object: each applies, and one of them is to be told. */
  | { kind: 'refused'; reasons: readonly string[] }
  | { kind: 'read'; value: unknown; keysStripped: boolean; numberAsText: boolean };

const DEEPEST = 32;
const MOST_VALUES = 1000;
/** A longer name may be compared as it is written. */
const LONGEST_NAME = 256;

/** What can be read of a body (C-110 to C-115). */
export function contentOf(body: Uint8Array): Content {
  const text = bodyText(body);
  if (text === undefined) return { kind: 'not-utf8' };
  const document = documentIn(text);
  if (document === undefined) return { kind: 'not-json', isShort: text.length <= DEEPEST };
  const parts = partsOf(document);
  const reasons = reasonsAgainst(document, parts);
  if (reasons.length > 0) return { kind: 'refused', reasons };
  let keysStripped = false;
  const value = valueOf(document, heldNumber, (name, inner) => {
    const isDropped = reachesPrototype(name, inner);
    keysStripped ||= isDropped;
    return isDropped;
  });
  const numberAsText = parts.some((part) => part.kind === 'number' && !isHeld(part.literal));
  return { kind: 'read', value, keysStripped, numberAsText };
}

function reasonsAgainst(document: Document, parts: readonly Document[]): string[] {
  const reasons: [reason: string, applies: boolean][] = [
    ['too-deep', depthOf(document) > DEEPEST],
    ['too-large', parts.reduce((sum, part) => sum + marksOf(part), 0) > MOST_VALUES],
    ['duplicate-key', parts.some(hasNameTwice)],
  ];
  return reasons.filter(([, applies]) => applies).map(([reason]) => reason);
}

/** Commas, and the bracket or brace that opens. */
function marksOf(part: Document): number {
  if (part.kind === 'list') return 1 + Math.max(0, part.elements.length - 1);
  return part.kind === 'object' ? 1 + Math.max(0, part.members.length - 1) : 0;
}

function hasNameTwice(part: Document): boolean {
  if (part.kind !== 'object') return false;
  const names = part.members.map(([name]) => name).filter((name) => name.length < LONGEST_NAME / 6);
  return new Set(names).size < names.length;
}

/** A number that JavaScript cannot hold stays what was sent (C-113). */
function heldNumber(literal: string): unknown {
  return isHeld(literal) ? Number(literal) : literal;
}

function isHeld(literal: string): boolean {
  const value = Number(literal);
  if (/^-?\d+$/.test(literal)) return BigInt(literal) <= 2n ** 53n - 1n && BigInt(literal) >= 1n - 2n ** 53n;
  const isNought = /^-?[0.]*(?:e|$)/i.test(literal);
  return Number.isFinite(value) && (value !== 0 || isNought);
}

/** Names that reach into prototypes (C-111). */
export function reachesPrototype(name: string, value: unknown): boolean {
  if (name === '__proto__') return true;
  return (
    name === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  );
}

/** What a station of an endpoint is judged by. */
export interface Registration {
  scheme: 'http' | 'https';
  secret: string;
  /** '' = none. */
  previousSecret: string;
  acceptBareSignature: boolean;
}

/** Body and `Authorization` lines. */
export interface Sent {
  body: Uint8Array;
  authorization: readonly string[];
}

/** What the specification says of a message (section 5). */
export type Verdict =
  | { kind: 'genuine'; index: number; proof: 'hmac' | 'token'; secret: 'current' | 'previous' }
  /** `burnt`: place of the station whose phrase came in clear where only a signature counts. */
  | { kind: 'refused'; burnt: number | undefined }
  /** Neither the specification nor the cases of the receiver decide. */
  | { kind: 'open' };

type Token = { kind: 'absent' | 'unusable' | 'open' } | { kind: 'text'; text: string };

/** Characters of 32 bytes in Base-64. */
const LENGTH = 44;
const TOKEN_NAMES = ['authenticationToken', 'AuthenticationToken'];

/** @param stations in the order in which they are tried */
export function verdictOn(sent: Sent, stations: readonly Registration[]): Verdict {
  const token = tokenOf(sent.body);
  for (const [index, station] of stations.entries()) {
    const verdict = verdictOf(station, index, sent, token);
    if (verdict !== undefined) return verdict;
  }
  const burnt = stations.findIndex(
    (station) =>
      station.scheme === 'http' && token.kind === 'text' && slotOf(station, token.text) !== undefined,
  );
  return { kind: 'refused', burnt: burnt < 0 ? undefined : burnt };
}

function verdictOf(station: Registration, index: number, sent: Sent, token: Token): Verdict | undefined {
  const named = token.kind === 'text' ? slotOf(station, token.text) : undefined;
  if (station.scheme === 'https' && named !== undefined)
    return { kind: 'genuine', index, proof: 'token', secret: named };
  const signed = signedBy(station, sent);
  if (signed === undefined) return undefined;
  // At `https` a token decides where there is one (C-86 to C-88).
  if (station.scheme === 'https' && token.kind === 'open') return { kind: 'open' };
  if (station.scheme === 'https' && token.kind !== 'absent') return undefined;
  return { kind: 'genuine', index, proof: 'hmac', secret: signed };
}

function slotOf(station: Registration, text: string): 'current' | 'previous' | undefined {
  if (text === station.secret) return 'current';
  return isPhrase(station.previousSecret) && text === station.previousSecret ? 'previous' : undefined;
}

/** An empty key proves nothing, nor does a word for no value (C-26), nor one with a NUL (C-30). */
function isPhrase(phrase: string): boolean {
  return !/^(?:\s*|null|undefined)$/.test(phrase) && !phrase.includes('\0') && !/^\$[({].*[)}]$/.test(phrase);
}

function signedBy(station: Registration, sent: Sent): 'current' | 'previous' | undefined {
  const text = signatureIn(sent.authorization, station.acceptBareSignature);
  if (text?.length !== LENGTH) return undefined;
  if (signaturesOf(station.secret, sent.body).includes(text)) return 'current';
  const isSet = isPhrase(station.previousSecret);
  return isSet && signaturesOf(station.previousSecret, sent.body).includes(text) ? 'previous' : undefined;
}

/** One line, the scheme in any case (C-06), blanks between and around (C-08). The text is compared, whatever it is (C-13). */
function signatureIn(lines: readonly string[], acceptBare: boolean): string | undefined {
  const [line, ...others] = lines;
  if (line === undefined || others.length > 0) return undefined;
  const found = /^[ \t]*(?:(hmac-sha256)[ \t]+)?(.*?)[ \t]*$/i.exec(line);
  return found?.[1] !== undefined || acceptBare ? found?.[2] : undefined;
}

/** Of the bytes as they came, and without marks before them (C-22, C-23). */
function signaturesOf(phrase: string, body: Uint8Array): string[] {
  const signed = withoutMarks(body);
  return signed.map((bytes) =>
    createHmac('sha256', Buffer.from(phrase, 'utf8')).update(bytes).digest('base64'),
  );
}

/** The one token of the envelope (C-79 to C-84). */
function tokenOf(body: Uint8Array): Token {
  const text = bodyText(body);
  if (text === undefined) return { kind: 'absent' };
  // Its name, or an escape that may be in the name.
  const mayHoldName = /\\|uthenticationToken/.test(text);
  if (!mayHoldName) return { kind: 'absent' };
  const document = documentIn(text);
  // Whether a text that is no JSON has a token nobody can say.
  return document === undefined ? { kind: 'open' } : tokenIn(document);
}

function tokenIn(document: Document): Token {
  const members = document.kind === 'object' ? document.members : [];
  const [found, ...others] = members.filter(([name]) => TOKEN_NAMES.includes(name));
  if (found === undefined) return { kind: 'absent' };
  if (others.length > 0) return { kind: 'unusable' };
  const [, token] = found;
  if (token.kind !== 'word') return { kind: 'unusable' };
  if (token.value === null || token.value === '') return { kind: 'absent' };
  return typeof token.value === 'string' ? { kind: 'text', text: token.value } : { kind: 'unusable' };
}
