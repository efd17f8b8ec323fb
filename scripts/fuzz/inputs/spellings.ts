import * as fc from 'fast-check';
import { list, mixed } from './any';

type Spelling = (text: string) => string;

const AS_IT_IS: Spelling = (text) => text;
const PLAIN = fc.constantFrom<Spelling>(
  AS_IT_IS,
  AS_IT_IS,
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(text).toString('base64url'),
  (text) => Buffer.from(text).toString('hex'),
  (text) => Buffer.from(text).toString('hex').toUpperCase(),
);

/** Escapes of the characters of ASCII, by their codes: made once, for most of what is spelled is made of them. */
const PERCENT = escapes((code) => `%${code.toString(16).toUpperCase().padStart(2, '0')}`);
const AS_LITTLE_AS_NEEDED = escapes((code) => (code === 0x25 ? '%25' : String.fromCharCode(code)));
const TABLES = [
  PERCENT,
  PERCENT.map((escape) => escape.toLowerCase()),
  escapes((code) => `&#${code};`),
  escapes((code) => `&#x${code.toString(16)};`),
  escapes((code) => `\\u${code.toString(16).padStart(4, '0')}`),
  escapes((code) => `\\${code.toString(8).padStart(3, '0')}`),
  escapes((code) => `%u${code.toString(16).padStart(4, '0')}`),
];

/** Draws for the characters of a text, used again and again. */
const DRAWS = list(fc.nat(99), 16);

const ESCAPED = fc.oneof<fc.Arbitrary<Spelling>[]>(
  fc.constant(AS_IT_IS),
  fc.constant(AS_IT_IS),
  fc.constant(encodeURIComponent),
  DRAWS.map(
    (draws) => (text) => escaped(text, (at) => (isDrawn(draws, at, 50) ? PERCENT : AS_LITTLE_AS_NEEDED)),
  ),
  ...TABLES.map((table) => fc.constant((text: string) => escaped(text, () => table))),
);
/** With blanks or line breaks between its characters, here and there. */
const SPLIT = fc
  .tuple(fc.constantFrom(' ', '\n', '\r\n '), fc.constantFrom(5, 30, 100), DRAWS)
  .map(([gap, percent, draws]): Spelling => (text) => {
    const split = (character: string, at: number): string =>
      character + (isDrawn(draws, at, percent) ? gap : '');
    return Array.from(text, split).join('');
  });

/**
 * Ways to spell a text in which a service may repeat it: letters, digits or encoded, then escaped up to twice, perhaps in
 * parts. Escaped twice, the parts would be longer than all that is read of an answer.
 */
export const SPELLING: fc.Arbitrary<Spelling> = mixed(
  [10, chain(PLAIN, SPLIT, ESCAPED)],
  [81, chain(PLAIN, ESCAPED, ESCAPED)],
  [9, chain(PLAIN, ESCAPED, ESCAPED, SPLIT)],
);

/** Characters in a row that tell enough of a secret to be missed. */
const TELLING = 8;

/** Whether a text shows a part of one that was planted in it as `planted`. */
export function tells(text: string, secret: string, planted: string): boolean {
  const folded = text.toLowerCase();
  return folded.length >= TELLING && (holdsPart(folded, secret) || holdsPart(folded, planted));
}

function holdsPart(folded: string, told: string): boolean {
  const small = told.toLowerCase();
  for (let at = 0; at + TELLING <= small.length; at += 1)
    if (folded.includes(small.slice(at, at + TELLING))) return true;
  return false;
}

function chain(...steps: fc.Arbitrary<Spelling>[]): fc.Arbitrary<Spelling> {
  return fc
    .tuple(...steps)
    .map((spellings) => (text) => spellings.reduce((spelled, spell) => spell(spelled), text));
}

function escapes(escape: (code: number) => string): string[] {
  return Array.from({ length: 128 }, (_, code) => escape(code));
}

/** Each character of ASCII as the table chosen for it has it. */
function escaped(text: string, tableFor: (at: number) => readonly string[]): string {
  let result = '';
  for (let at = 0; at < text.length; at += 1) result += tableFor(at)[text.charCodeAt(at)] ?? text.charAt(at);
  return result;
}

function isDrawn(draws: readonly number[], at: number, percent: number): boolean {
  return (draws[at % draws.length] ?? 0) < percent;
}
