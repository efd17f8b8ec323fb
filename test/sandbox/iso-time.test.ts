import assert from 'node:assert/strict';
import { parseIsoTime, zonelessTime } from '../../sandbox/text';

describe('times of the sandbox', () => {
  const TIME = Date.UTC(2026, 2, 4, 5, 6, 7);

  for (const [text, time] of [
    ['2026-03-04T05:06:07', TIME],
    ['2026-03-04T05:06:07Z', TIME],
    ['2026-03-04T05:06:07.0000000', TIME],
    ['2026-03-04T05:06:07.1239999', TIME + 123],
    ['20260304T050607Z', TIME],
    ['2026-03-04T06:06:07+01:00', TIME],
    ['2026-03-04T04:36:07-0030', TIME],
    ['', undefined],
    ['live', undefined],
    ['2026-13-04T05:06:07', undefined],
    ['2026-02-30T05:06:07', undefined],
    ['2026-03-04', undefined],
    ['2026-03-04 05:06:07', undefined],
    ['1772600767', undefined],
  ] as const)
    it(`${time === undefined ? 'refuses' : 'reads'} "${text}"`, () => assert.equal(parseIsoTime(text), time));

  it('writes a time without zone and with fraction digits', () => {
    assert.equal(zonelessTime(TIME + 120), '2026-03-04T05:06:07.1200000');
  });
});
