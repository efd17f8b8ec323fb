import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { isSameJson, copyOfJson } from '../../lib/json/json';

describe('JSON values', () => {
  it('a copy says the same and shares no object with what it was made of', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = copyOfJson(value);
        assert.deepEqual(copy, value);
        assert.equal(sharesObject(copy, value), false);
      }),
    );
  });

  it('two say the same where their texts are the same, and only there', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        assert.ok(isSameJson(one, JSON.parse(JSON.stringify(one))));
        assert.equal(isSameJson(one, other), JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });

  for (const [one, other] of [
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: null }, {}],
    [{ a: [1, 2] }, { a: [1] }],
    [{ a: [] }, { a: {} }],
    [{ a: {} }, { a: null }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [1, '1'],
  ]) {
    it(`${JSON.stringify(one)} does not say the same as ${JSON.stringify(other)}`, () => {
      assert.equal(isSameJson(one, other), false);
      assert.equal(isSameJson(other, one), false);
    });
  }
});

function sharesObject(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null) return false;
  if (typeof other !== 'object' || other === null) return false;
  if (one === other) return true;
  return Object.entries(one).some(([key, inner]) => sharesObject(inner, Reflect.get(other, key)));
}
