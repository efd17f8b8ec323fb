import { bodyText } from './body-text';
import { depthOf, documentIn, partsOf, valueOf, type Document } from './document';

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
