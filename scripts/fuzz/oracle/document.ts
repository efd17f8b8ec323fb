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

export function isJson(text: string): boolean {
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
