import assert from 'node:assert/strict';
import { parseIsoTime, zonelessTime } from '../../sandbox/text';

describe('times of the sandbox', () => {
  const expected = Date.UTC(2026, 2, 4, 5, 6, 7);

  for (const text of [
    '2026-03-04T05:06:07',
    '2026-03-04T05:06:07Z',
    '2026-03-04T05:06:07.0000000',
    '20260304T050607Z',
    '2026-03-04T06:06:07+01:00',
    '2026-03-04T04:36:07-0030',
  ]) {
    it(`reads ${text}`, () => assert.equal(parseIsoTime(text), expected));
  }

  it('reads the fraction to the millisecond', () => {
    assert.equal(parseIsoTime('2026-03-04T05:06:07.1239999'), expected + 123);
  });

  for (const text of [
    '',
    'live',
    '2026-13-04T05:06:07',
    '2026-02-30T05:06:07',
    '2026-03-04',
    '2026-03-04 05:06:07',
    '1772600767',
  ]) {
    it(`refuses "${text}"`, () => assert.equal(parseIsoTime(text), undefined));
  }

  it('writes a time without zone and with fraction digits', () => {
    assert.equal(zonelessTime(expected + 120), '2026-03-04T05:06:07.1200000');
  });
});
