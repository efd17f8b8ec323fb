import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { toError } from '../../lib/error';
import { parseSafely } from '../../lib/json/json';
import { parseInSlices, TooDeepError, type JsonBounds, TooManyError } from '../../lib/json/sliced-parser';
import { few } from '../support/suite/lanes';

/** Longer than what is parsed at a time. */
const LONG = 'x'.repeat(50_000);
const DEEPEST = 64;

function sliced(text: string, bounds: Partial<JsonBounds> = {}): Promise<unknown> {
  return parseInSlices(Buffer.from(text), { depth: DEEPEST, values: Infinity, names: Infinity, ...bounds });
}

async function parsed(text: string): Promise<unknown> {
  return sliced(text).catch((error: unknown) => toError(error).name);
}

/** As the parser of short texts says. */
function expected(text: string): unknown {
  try {
    return parseSafely(text);
  } catch (error) {
    return toError(error).name;
  }
}

describe('a long JSON text that is parsed in pieces', () => {
  for (const [what, text] of [
    ['a list of long texts', JSON.stringify(Array.from({ length: 20 }, () => LONG))],
    ['a record of long texts', JSON.stringify({ a: LONG, b: LONG, c: { d: LONG, e: [LONG] } })],
    ['thousands of records', JSON.stringify(Array.from({ length: 5000 }, (_, id) => ({ id, name: 'gate' })))],
    [
      'thousands of keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key ${n}`, n]))),
    ],
    ['a key twice, far apart', `{"a":1,"b":"${LONG}","c":"${LONG}","a":2}`],
    ['commas, brackets and quotes within texts', JSON.stringify(Array(5000).fill('a,]}"\\[{'))],
    ['white space everywhere', ` [ "${LONG}" ,\n\t{ "a" : "${LONG}" } , [ ] ] `],
    ['lists and records of white space alone', `[[${' '.repeat(100_000)}],{${' '.repeat(100_000)}}]`],
    ['one long text alone', JSON.stringify(LONG)],
    ['nothing', ''],
    ['a comma at the end of a list', `["${LONG}","${LONG}",]`],
    ['a comma at the end of a record', `{"a":"${LONG}","b":"${LONG}",}`],
    ['two commas', `["${LONG}",,"${LONG}"]`],
    ['a comma at the start', `[,"${LONG}","${LONG}"]`],
    ['no end', `["${LONG}","${LONG}"`],
    ['another end', `["${LONG}","${LONG}"}`],
    ['an end in the middle', `["${LONG}"],["${LONG}"]`],
    ['something behind it', `["${LONG}","${LONG}"]x`],
    ['no colon', `{"a" "${LONG}","b":"${LONG}"}`],
    ['no key', `{"${LONG}","${LONG}"}`],
    ['two keys', `{"a":"b":["${LONG}"],"c":"${LONG}"}`],
    ['a text without an end', `["${LONG}","${LONG}`],
    ['a forbidden key in front of a long value', `{"__proto__":{"a":"${LONG}${LONG}"},"b":1}`],
    ['a forbidden key in escapes', `{"\\u005f_proto__":{"a":"${LONG}${LONG}"},"b":1}`],
    ['a constructor with a prototype', `{"constructor":{"prototype":{"a":"${LONG}${LONG}"}},"b":1}`],
    ['a constructor without one', `{"constructor":{"other":"${LONG}${LONG}"},"b":1}`],
    ['a prototype alone', `{"x":{"prototype":"${LONG}${LONG}"},"b":1}`],
  ] as const)
    it(`says of ${what} what the parser says`, async () => {
      assert.ok(isDeepStrictEqual(await parsed(text), expected(text)));
    });

  it('says what the parser says of any text of long and short pieces', async () => {
    const value = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc
          .constantFrom('short', `"${LONG}"`, '1', 'null', '', '{}', '[]', '"a,b"', '"\\""', '"\\\\"')
          .map((text) => (text === 'short' ? '"short"' : text)),
        fc.array(tie('value'), { maxLength: 4 }).map((all) => `[${all.join(',')}]`),
        fc
          .array(fc.tuple(fc.constantFrom('"a"', '"b"', '"__proto__"', 'c', '""'), tie('value')), {
            maxLength: 4,
          })
          .map((all) => `{${all.map(([key, one]) => `${key}: ${one}`).join(' , ')}}`),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(value, async (text) => {
        assert.ok(isDeepStrictEqual(await parsed(text), expected(text)));
      }),
      { numRuns: few(100, 500) },
    );
  });

  it('is refused where it is nested too deep, wherever that is', async () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    const within = (levels: number): string => `[{"a":"${LONG}","b":${nested(levels - 2)}},"${LONG}"]`;
    await assert.rejects(sliced(within(DEEPEST + 1)), TooDeepError);
    await sliced(within(DEEPEST));
  });

  it('is refused where a byte-order mark stands in it, behind which all would be parsed at once', async () => {
    for (const text of [`\uFEFF["${LONG}"]`, `{"a":\uFEFF["${LONG}","${LONG}"]}`])
      await assert.rejects(sliced(text), SyntaxError);
  });

  for (const [what, value, members] of [
    ['a list of numbers', [1, 2, 3, 4], 4],
    ['a list of lists', [[1], [2]], 4],
    ['objects in each other', { a: { b: { c: 1 } }, d: 1 }, 4],
    ['members on both sides of a long one', [1, [LONG, LONG], 2], 4],
  ] as const)
    it(`is refused where it has more values than are read: ${what}`, async () => {
      const text = JSON.stringify(value);
      assert.deepEqual(await sliced(text, { values: members }), value);
      await assert.rejects(sliced(text, { values: members - 1 }), TooManyError);
    });

  it('is refused where one object has more names than are read, and not where two together have', async () => {
    const object = { a: LONG, b: LONG, c: [LONG, LONG] };
    assert.deepEqual(await sliced(JSON.stringify([object, object]), { names: 3 }), [object, object]);
    await assert.rejects(sliced(JSON.stringify(object), { names: 2 }), TooManyError);
  });

  it('becomes a text, and is parsed, in pieces alone', async () => {
    const text = JSON.stringify(
      Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'é', at: [1, [2], {}] })),
    );
    const decode = mock.method(TextDecoder.prototype, 'decode');
    const parse = mock.method(JSON, 'parse');
    try {
      await sliced(text);
      const decoded = decode.mock.calls.map(({ result }) => result?.length ?? Infinity);
      const parsedAtOnce = parse.mock.calls.map(({ arguments: [piece] }) => piece.length);
      assert.ok(text.length > 700_000);
      assert.ok(Math.max(...decoded, ...parsedAtOnce) < 70_000);
    } finally {
      mock.restoreAll();
    }
  });

  for (const [what, text] of [
    ['thousands of records', JSON.stringify(Array.from({ length: 100_000 }, (_, id) => ({ id, at: [1] })))],
    ['a text of escapes', `["${'\\n'.repeat(7_000_000)}"]`],
    ['a text of escapes that begins one character later', `["x${'\\n'.repeat(7_000_000)}"]`],
    ['white space', `[${' '.repeat(14_000_000)}]`],
  ] as const)
    it(`lets others run meanwhile: ${what}`, async () => {
      let turns = 0;
      const count = (): void => {
        turns += 1;
        timer = setImmediate(count);
      };
      let timer = setImmediate(count);
      await sliced(text);
      clearImmediate(timer);
      assert.ok(turns >= 3, `${turns} turns`);
    });
});
