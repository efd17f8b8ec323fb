import type { Random } from '../random';

/** A way to write a text so that whoever reads it can have it back. */
type Spelling = (random: Random, text: string) => string;

const AS_IT_IS: Spelling = (_, text) => text;
const PLAIN: readonly Spelling[] = [
  AS_IT_IS,
  AS_IT_IS,
  (_, text) => text.toUpperCase(),
  (_, text) => text.toLowerCase(),
  (_, text) => Buffer.from(text).toString('base64'),
  (_, text) => Buffer.from(text).toString('base64url'),
  (_, text) => Buffer.from(text).toString('hex'),
  (_, text) => Buffer.from(text).toString('hex').toUpperCase(),
];

/** Escapes of the characters of ASCII, by their codes: made once, for most of what is spelled is made of them. */
const PERCENT = escapes((code) => `%${code.toString(16).toUpperCase().padStart(2, '0')}`);
const SMALL_PERCENT = PERCENT.map((escape) => escape.toLowerCase());
const DECIMAL = escapes((code) => `&#${code};`);
const HEXADECIMAL = escapes((code) => `&#x${code.toString(16)};`);
const UNICODE = escapes((code) => `\\u${code.toString(16).padStart(4, '0')}`);
const OCTAL = escapes((code) => `\\${code.toString(8).padStart(3, '0')}`);
const PERCENT_UNICODE = escapes((code) => `%u${code.toString(16).padStart(4, '0')}`);
const AS_LITTLE_AS_NEEDED = escapes((code) => (code === 0x25 ? '%25' : String.fromCharCode(code)));

const ESCAPED: readonly Spelling[] = [
  AS_IT_IS,
  AS_IT_IS,
  (_, text) => encodeURIComponent(text),
  (random, text) => escaped(text, () => (random.chance(0.5) ? PERCENT : AS_LITTLE_AS_NEEDED)),
  ...[PERCENT, SMALL_PERCENT, DECIMAL, HEXADECIMAL, UNICODE, OCTAL, PERCENT_UNICODE].map(
    (table): Spelling =>
      (_, text) =>
        escaped(text, () => table),
  ),
];
/** Characters in a row that tell enough of a secret to be missed. */
const TELLING = 8;

/** The same text, spelled in a way that a service may repeat it in: letters, digits or encoded, then escaped up to twice, perhaps in parts. */
export function spelled(random: Random, secret: string): string {
  let text = random.pick(PLAIN)(random, secret);
  // Escaped twice, the parts would be longer than all that is read of an answer.
  if (random.chance(0.1)) return random.pick(ESCAPED)(random, split(random, text));
  for (let time = 0; time < 2; time += 1) text = random.pick(ESCAPED)(random, text);
  return random.chance(0.1) ? split(random, text) : text;
}

/** With blanks or line breaks between its characters, here and there. */
function split(random: Random, text: string): string {
  const part = random.pick([' ', '\n', '\r\n ']);
  const share = random.pick([0.05, 0.3, 1]);
  return text.replace(/[^]/gu, (character) => (random.chance(share) ? character + part : character));
}

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

function escapes(escape: (code: number) => string): string[] {
  return Array.from({ length: 128 }, (_, code) => escape(code));
}

/** Each character of ASCII as the table chosen for it has it. */
function escaped(text: string, tableFor: () => readonly string[]): string {
  let result = '';
  for (let at = 0; at < text.length; at += 1) result += tableFor()[text.charCodeAt(at)] ?? text.charAt(at);
  return result;
}
