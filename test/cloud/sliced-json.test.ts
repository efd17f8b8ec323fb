import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { asError } from '../../lib/concurrency/as-error';
import { parseInSlices, parseSafely, TooDeepError } from '../../lib/json/sliced-json';

/** Longer than what is parsed at a time. */
const LONG = 'x'.repeat(50_000);
const DEEPEST = 64;

async function parsed(text: string): Promise<unknown> {
  return parseInSlices(text, DEEPEST).catch((error: unknown) => asError(error).name);
}

/** As the parser of short texts says. */
function expected(text: string): unknown {
  try {
    return parseSafely(text);
  } catch (error) {
    return asError(error).name;
  }
}

describe('a long JSON text that is parsed in pieces', () => {
  for (const [what, text] of [
    ['a list of long texts', JSON.stringify(Array.from({ length: 20 }, () => LONG))],
    ['a record of long texts', JSON.stringify({ a: LONG, b: LONG, c: { d: LONG, e: [LONG] } })],
    [
      'thousands of records',
      JSON.stringify(Array.from({ length: 5000 }, (_, id) => ({ id, name: 'camera' }))),
    ],
    [
      'thousands of keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key ${n}`, n]))),
    ],
    ['a key twice, far apart', `{"a":1,"b":"${LONG}","c":"${LONG}","a":2}`],
    ['commas, brackets and quotes within texts', JSON.stringify(Array(5000).fill('a,]}"\\[{'))],
    ['white space everywhere', ` [ "${LONG}" ,\n\t{ "a" : "${LONG}" } , [ ] ] `],
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
      { numRuns: 500 },
    );
  });

  it('is refused where it is nested too deep, wherever that is', async () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    const within = (levels: number): string => `[{"a":"${LONG}","b":${nested(levels - 2)}},"${LONG}"]`;
    await assert.rejects(parseInSlices(within(DEEPEST + 1), DEEPEST), TooDeepError);
    await parseInSlices(within(DEEPEST), DEEPEST);
  });

  it('is refused where a byte-order mark stands in it, behind which all would be parsed at once', async () => {
    for (const text of [`\uFEFF["${LONG}"]`, `{"a":\uFEFF["${LONG}","${LONG}"]}`])
      await assert.rejects(parseInSlices(text, DEEPEST), SyntaxError);
  });

  it('lets others run meanwhile', async () => {
    const text = JSON.stringify(
      Array.from({ length: 100_000 }, (_, id) => ({ id, name: 'camera', at: [1, 2] })),
    );
    let turns = 0;
    const count = (): void => {
      turns += 1;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    await parseInSlices(text, DEEPEST);
    clearImmediate(timer);
    assert.ok(turns >= 5, `${turns} turns`);
  });
});
