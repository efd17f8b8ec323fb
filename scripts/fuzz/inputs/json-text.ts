import * as fc from 'fast-check';
import { list, mixed } from './any';

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
