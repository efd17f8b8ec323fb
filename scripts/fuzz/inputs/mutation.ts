import type { Random } from '../random';

/** What parsers stumble over. */
const TOKENS: readonly string[] = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\"',
  '\\u0061',
  '\\ud800',
  '\\u0000',
  '\0',
  '\n',
  ' ',
  '\uFEFF',
  '\u2028',
  '\u00a0',
  '/**/',
  '//',
  'null',
  'NaN',
  'true',
  '-0',
  '1e400',
  '1e-400',
  '01',
  '9007199254740993',
  '0.1e+2',
  '"__proto__":{},',
  '"constructor":{"prototype":{}},',
  '"payload":{},',
  '"authenticationToken":null,',
  '"authenticationToken":"x",',
  '"AuthenticationToken":"",',
  '{"a":1},',
  '\r\n',
  '\r\n\r\n',
  '\x1b[31m',
  '\u202e',
  '%',
  '%25',
  '&#x41;',
  '<title>',
  '</',
  "'",
  '=',
];
/** No character of UTF-8: a byte alone, an overlong slash, half a pair, a sequence that is cut. */
const NO_UTF8 = ['ff', 'c0af', 'eda080', 'e282'].map((hex) => Buffer.from(hex, 'hex'));

type Change = (random: Random, bytes: Buffer, other: Buffer) => Buffer;

const CHANGES: readonly Change[] = [
  (random, bytes) => {
    const copy = Buffer.from(bytes);
    const at = random.below(copy.length);
    if (copy.length > 0) copy.writeUInt8(copy.readUInt8(at) ^ (1 << random.below(8)), at);
    return copy;
  },
  (random, bytes) => {
    const [from, to] = piece(random, bytes);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  (random, bytes) => {
    const [from, to] = piece(random, bytes);
    return inserted(random, bytes, bytes.subarray(from, to));
  },
  (random, bytes) => bytes.subarray(0, random.below(bytes.length + 1)),
  (random, bytes) => inserted(random, bytes, Buffer.from(random.pick(TOKENS))),
  (random, bytes) => inserted(random, bytes, Buffer.from(random.pick(TOKENS))),
  (random, bytes) => inserted(random, bytes, random.pick(NO_UTF8)),
  (_, bytes) => Buffer.concat([Buffer.from('\uFEFF'), bytes]),
  (random, bytes) => Buffer.concat([bytes, Buffer.from(random.pick(TOKENS))]),
  (random, bytes, other) =>
    Buffer.concat([
      bytes.subarray(0, random.below(bytes.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ]),
];

/** The bytes with one change; `other` is what a splice takes its second half from. */
export function mutated(random: Random, bytes: Buffer, other: Buffer = bytes): Buffer {
  return random.pick(CHANGES)(random, bytes, other);
}

/** With so many changes, one after the other. */
export function mutatedOften(random: Random, bytes: Buffer, times: number, other: Buffer = bytes): Buffer {
  let changed = bytes;
  for (let time = 0; time < times; time += 1) changed = mutated(random, changed, other);
  return changed;
}

function piece(random: Random, bytes: Buffer): [from: number, to: number] {
  const from = random.below(bytes.length + 1);
  return [from, Math.min(bytes.length, from + 1 + random.below(random.chance(0.8) ? 8 : 400))];
}

function inserted(random: Random, bytes: Buffer, what: Uint8Array): Buffer {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at)]);
}
