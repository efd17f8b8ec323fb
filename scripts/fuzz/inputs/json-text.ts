import type { Random } from '../random';

const WORDS: readonly string[] = [
  '""',
  '"x"',
  '"online"',
  '"Online"',
  '"\\u006fnline"',
  '"a\\"b"',
  '"\\\\"',
  '"caf\\u00e9"',
  '"Züri 東京 🚨"',
  '"\\ud83d\\ude80"',
  '"\\ud800"',
  '"\\u0000"',
  '"\\u001b[31m"',
  '"2026-03-04T05:06:07Z"',
  '"0001-01-01T00:00:00"',
  '"9999-99-99"',
  '"<title>x</title>"',
  '"{\\"a\\":[1,2]}"',
  '"https://host.example/a"',
  '"//host/a"',
  '" "',
  '0',
  '-0',
  '1',
  '-1',
  '1.5',
  '1E+2',
  '1e30',
  '1e400',
  '-1e400',
  '1e-400',
  '0e-999',
  '9007199254740991',
  '9007199254740992',
  '12345678901234567890',
  '-9007199254740993',
  '123456789012345',
  'true',
  'false',
  'null',
];
const NAMES: readonly string[] = [
  'a',
  'b',
  '0',
  '16384',
  '',
  'id',
  'Id',
  'name',
  'status',
  'state',
  'connected',
  'online',
  'site',
  'message',
  'code',
  'error',
  'errors',
  'detail',
  'title',
  'meta',
  'result',
  'data',
  'devices',
  'items',
  '_embedded',
  '_links',
  'href',
  'next',
  'rel/devices',
  '/rel/next',
  'collection_header',
  'rtspRelayURL',
  'RtspRelayURL',
  '__proto__',
  '\\u005f_proto__',
  'constructor',
  'c\\u006fnstructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'payload',
  'Payload',
  'payloadType',
  'messageId',
  'authenticationToken',
  'version',
  'Version',
  'length',
];
const SPACES: readonly string[] = ['', '', '', '', ' ', '\n', '\t\r\n  '];

/**
 * A well-formed JSON text of any kind of value, with the names that the package looks for and those that it must beware of.
 * @param depth of lists and objects at most
 */
export function jsonText(random: Random, depth: number): string {
  if (depth === 0 || random.chance(0.3)) return random.pick(WORDS);
  return random.chance(0.3) ? listText(random, depth) : recordText(random, depth);
}

export function recordText(random: Random, depth: number): string {
  const members = Array.from({ length: random.below(5) }, () => {
    const name = `"${random.pick(NAMES)}"${random.pick(SPACES)}:`;
    return `${random.pick(SPACES)}${name}${random.pick(SPACES)}${jsonText(random, depth - 1)}`;
  });
  return `{${members.join(',')}${random.pick(SPACES)}}`;
}

function listText(random: Random, depth: number): string {
  const elements = Array.from({ length: random.below(4) }, () => jsonText(random, depth - 1));
  return `[${elements.join(`${random.pick(SPACES)},`)}${random.pick(SPACES)}]`;
}

/** A text inside so many lists or objects. */
export function nestedText(random: Random, inner: string, depth: number): string {
  const [open, close] = random.chance(0.5) ? ['[', ']'] : ['{"a":', '}'];
  return open.repeat(depth) + inner + close.repeat(depth);
}
