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
const ESCAPED: readonly Spelling[] = [
  AS_IT_IS,
  AS_IT_IS,
  (_, text) => encodeURIComponent(text),
  (random, text) =>
    mapped(text, (unit) => (random.chance(0.5) ? percent(unit) : unit === '%' ? '%25' : unit)),
  (_, text) => mapped(text, percent),
  (_, text) => mapped(text, (unit) => percent(unit).toLowerCase()),
  (_, text) => mapped(text, (unit) => `&#${unit.charCodeAt(0)};`),
  (_, text) => mapped(text, (unit) => `&#x${unit.charCodeAt(0).toString(16)};`),
  (_, text) => mapped(text, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
];
/** Characters in a row that tell enough of a secret to be missed. */
const TELLING = 8;

/** The same text, spelled in a way that a service may repeat it in: letters, digits or encoded, then escaped up to twice. */
export function spelled(random: Random, secret: string): string {
  let text = random.pick(PLAIN)(random, secret);
  for (let time = 0; time < 2; time += 1) text = random.pick(ESCAPED)(random, text);
  return text;
}

/** Whether a text shows a part of one that was planted in it as `planted`. */
export function tells(text: string, secret: string, planted: string): boolean {
  const folded = text.toLowerCase();
  return [secret, planted].some((told) => {
    for (let at = 0; at + TELLING <= told.length; at += 1)
      if (folded.includes(told.slice(at, at + TELLING).toLowerCase())) return true;
    return false;
  });
}

function mapped(text: string, spell: (unit: string) => string): string {
  return text.split('').map(spell).join('');
}

function percent(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
