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
export type Change = (bytes: Buffer, other?: Buffer) => Buffer;

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
  const place = at % Math.max(1, copy.length);
  if (copy.length > 0) copy.writeUInt8(copy.readUInt8(place) ^ (1 << bit), place);
  return copy;
}

/** With something put in, in place of so many bytes. */
function spliced(bytes: Buffer, at: number, put: Buffer, removed = 0): Buffer {
  const place = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + removed)]);
}
