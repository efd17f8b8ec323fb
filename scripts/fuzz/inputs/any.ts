import * as fc from 'fast-check';

/** True in so many of a hundred. */
export function chance(percent: number): fc.Arbitrary<boolean> {
  return fc.nat(999).map((drawn) => drawn >= 1000 - percent * 10);
}

/** One of several kinds, each as often as its weight says. */
export function mixed<Kind>(...kinds: [weight: number, arbitrary: fc.Arbitrary<Kind>][]): fc.Arbitrary<Kind> {
  return fc.oneof(...kinds.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** So many of a kind. */
export function list<Kind>(
  item: fc.Arbitrary<Kind>,
  minLength: number,
  maxLength = minLength,
): fc.Arbitrary<Kind[]> {
  return fc.array(item, { minLength, maxLength, size: 'max' });
}

/** So many characters of an alphabet. */
export function text(alphabet: string, minLength: number, maxLength = minLength): fc.Arbitrary<string> {
  return list(fc.constantFrom(...alphabet.split('')), minLength, maxLength).map((characters) =>
    characters.join(''),
  );
}

/** Changes bytes; a splice takes its second half from `other`, which is the bytes themselves unless told otherwise. */
type Change = (bytes: Buffer, other?: Buffer) => Buffer;

/** What parsers stumble over. */
const TOKENS = [
  ...'{ } [ ] , : " \\ \\" \\u0061 \\ud800 \\u0000 \0 /**/ // null NaN true -0 1e400 1e-400 01 0.1e+2'.split(
    ' ',
  ),
  ...'9007199254740993 {"a":1}, "__proto__":{}, "constructor":{"prototype":{}}, "payload":{},'.split(' '),
  ...'"authenticationToken":null, "authenticationToken":"x", "AuthenticationToken":"",'.split(' '),
  ..."% %25 &#x41; <title> </ ' =".split(' '),
  ...'\n| |\uFEFF|\u2028|\u00a0|\r\n|\r\n\r\n|\x1b[31m|\u202e'.split('|'),
].map((token) => Buffer.from(token));
/** No character of UTF-8: a byte alone, an overlong slash, half a pair, a sequence that is cut. */
const NO_UTF8 = ['ff', 'c0af', 'eda080', 'e282'].map((hex) => Buffer.from(hex, 'hex'));

/** A place in bytes of any length. */
const PLACE = fc.nat();
const TOKEN = fc.constantFrom(...TOKENS);
const INSERTED = fc.tuple(PLACE, TOKEN).map(
  ([at, token]): Change =>
    (bytes) =>
      spliced(bytes, at, token),
);
const PIECE = fc.tuple(
  PLACE,
  mixed([8, fc.integer({ min: 1, max: 8 })], [2, fc.integer({ min: 1, max: 400 })]),
);

const CHANGE = fc.oneof<fc.Arbitrary<Change>[]>(
  fc.tuple(PLACE, fc.nat(7)).map(
    ([at, bit]) =>
      (bytes) =>
        flipped(bytes, at, bit),
  ),
  PIECE.map(
    ([at, length]) =>
      (bytes) =>
        spliced(bytes, at, Buffer.alloc(0), length),
  ),
  fc.tuple(PIECE, PLACE).map(([[from, length], at]) => (bytes) => {
    const start = from % (bytes.length + 1);
    return spliced(bytes, at, bytes.subarray(start, start + length));
  }),
  PLACE.map((end) => (bytes) => bytes.subarray(0, end % (bytes.length + 1))),
  INSERTED,
  INSERTED,
  fc.tuple(PLACE, fc.constantFrom(...NO_UTF8)).map(
    ([at, token]) =>
      (bytes) =>
        spliced(bytes, at, token),
  ),
  fc.constant((bytes) => Buffer.concat([Buffer.from('\uFEFF'), bytes])),
  TOKEN.map((token) => (bytes) => Buffer.concat([bytes, token])),
  fc.tuple(PLACE, PLACE).map(([end, start]) => (bytes, other = bytes) => {
    const rest = other.subarray(start % (other.length + 1));
    return Buffer.concat([bytes.subarray(0, end % (bytes.length + 1)), rest]);
  }),
);

/** So many changes, one after the other. */
export function changes(least: number, most = least): fc.Arbitrary<Change> {
  return list(CHANGE, least, most).map(
    (all) => (bytes, other) => all.reduce((changed, change) => change(changed, other), bytes),
  );
}

/** Changes in so many of a hundred, and none in the others. */
export function changesIn(percent: number, least: number, most = least): fc.Arbitrary<Change> {
  return mixed<Change>([100 - percent, fc.constant((bytes) => bytes)], [percent, changes(least, most)]);
}

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  const offset = at % Math.max(1, copy.length);
  if (copy.length > 0) copy.writeUInt8(copy.readUInt8(offset) ^ (1 << bit), offset);
  return copy;
}

/** With something put in, in place of so many bytes. */
function spliced(bytes: Buffer, at: number, put: Buffer, removed = 0): Buffer {
  const offset = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, offset), put, bytes.subarray(offset + removed)]);
}

const WORD = fc.constantFrom(
  ...'"" "x" "online" "Online" "\\u006fnline" "a\\"b" "\\\\" "caf\\u00e9" "\\ud83d\\ude80" "\\ud800" "\\u0000"'.split(
    ' ',
  ),
  ...'"\\u001b[31m" "2026-03-04T05:06:07Z" "0001-01-01T00:00:00" "9999-99-99" "<title>x</title>"'.split(' '),
  ...'"{\\"a\\":[1,2]}" "https://host.example/a" "//host/a" 0 -0 1 -1 1.5 1E+2 1e30 1e400 -1e400 1e-400'.split(
    ' ',
  ),
  ...'0e-999 9007199254740991 9007199254740992 12345678901234567890 -9007199254740993 123456789012345'.split(
    ' ',
  ),
  ...'true|false|null|" "|"Züri 東京 🚨"'.split('|'),
);
/** That the package looks for, and that it must beware of. */
const NAME = fc.constantFrom(
  ...'a b 0 16384 id Id name status state connected online site message code error errors detail title meta'.split(
    ' ',
  ),
  ...'result data devices items _embedded _links href next rel/devices /rel/next collection_header'.split(
    ' ',
  ),
  ...'rtspRelayURL RtspRelayURL __proto__ \\u005f_proto__ constructor c\\u006fnstructor prototype toString'.split(
    ' ',
  ),
  ...'hasOwnProperty payload Payload payloadType messageId authenticationToken version Version length'.split(
    ' ',
  ),
  '',
);
const GAP = fc.constantFrom('', '', '', '', ' ', '\n', '\t\r\n  ');

/** By their depth: made once, and used by all that are deeper. */
const values: fc.Arbitrary<string>[] = [WORD];
const records: fc.Arbitrary<string>[] = [];

/** A well-formed JSON text of any kind of value, with lists and objects of at most so many levels. */
export function jsonText(depth: number): fc.Arbitrary<string> {
  return (values[depth] ??= mixed([30, WORD], [21, listText(depth)], [49, recordText(depth)]));
}

export function recordText(depth: number): fc.Arbitrary<string> {
  return (records[depth] ??= fc
    .tuple(
      list(
        fc
          .tuple(NAME, GAP, GAP, jsonText(depth - 1))
          .map(([name, around, behind, value]) => `${around}"${name}"${around}:${behind}${value}`),
        0,
        4,
      ),
      GAP,
    )
    .map(([members, end]) => `{${members.join(',')}${end}}`));
}

function listText(depth: number): fc.Arbitrary<string> {
  return fc
    .tuple(list(jsonText(depth - 1), 0, 3), GAP, GAP)
    .map(([elements, gap, end]) => `[${elements.join(`${gap},`)}${end}]`);
}

/** A text inside so many lists or objects. */
export function nestedText(inner: fc.Arbitrary<string>, depth: fc.Arbitrary<number>): fc.Arbitrary<string> {
  return fc.tuple(inner, depth, fc.boolean()).map(([text, levels, isList]) => {
    const [open, close] = isList ? ['[', ']'] : ['{"a":', '}'];
    return open.repeat(levels) + text + close.repeat(levels);
  });
}

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

function holdsPart(folded: string, text: string): boolean {
  const small = text.toLowerCase();
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
