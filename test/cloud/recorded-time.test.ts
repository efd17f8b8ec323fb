import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { assert as check, boolean, constantFrom, date, integer, property, record } from 'fast-check';
import { shiftedBack, timeText } from '../../lib/cloud/functions/recorded-time';
import { readTime, timeOf } from '../../lib/time';

describe('a Date that a flow gives', () => {
  const WHEN = Date.UTC(2026, 2, 4);

  it('is read whatever has become of its methods', () => {
    const odd = Object.assign(new Date(WHEN), { getTime: () => Symbol('no time') });
    assert.equal(timeOf(odd), WHEN);
    assert.equal(timeText(odd), '2026-03-04T00:00:00.000Z');
  });

  it('is none where it only looks like one', () => {
    assert.equal(timeOf(Object.create(Date.prototype)), undefined);
    assert.throws(() => timeText(Object.create(Date.prototype)), { code: 'BAD_INPUT' });
  });
});

describe('time of recorded video', () => {
  const SHIFTS: [text: string, seconds: number, shifted: string][] = [
    ['2026-03-04T05:06:07', 7, '2026-03-04T05:06:00'],
    ['2026-03-04T05:06:07Z', 8, '2026-03-04T05:05:59Z'],
    ['2026-03-04T05:06:07.1234567', 10, '2026-03-04T05:05:57.1234567'],
    ['2026-03-04T05:06:07,5z', 1, '2026-03-04T05:06:06,5z'],
    ['2026-03-04T05:06:07.000000009Z', 1, '2026-03-04T05:06:06.000000009Z'],
    ['2026-03-04T05:06:07+02:00', 60, '2026-03-04T05:05:07+02:00'],
    ['2026-03-04T05:06:07-0530', 60, '2026-03-04T05:05:07-0530'],
    ['2026-03-01T00:00:05', 10, '2026-02-28T23:59:55'],
    ['20260304T050607Z', 10, '20260304T050557Z'],
    ['20260304T050607.25', 10, '20260304T050557.25'],
    ['2026-03-04 05:06:07', 1, '2026-03-04 05:06:06'],
    ['2026-03-04T05:06', 60, '2026-03-04T05:05'],
    ['2026-03-04T05:06', 10, '2026-03-04T05:05:50'],
    ['2026-03-04T05:06:07', 0.5, '2026-03-04T05:06:06.500'],
    ['2026-03-04T05:06:07.1Z', 0.25, '2026-03-04T05:06:06.850Z'],
    ['2026-03-04', 10, '2026-03-03T23:59:50.000Z'],
    ['2026-03-04T24:00:00Z', 1, '2026-03-04T23:59:59Z'],
  ];
  for (const [text, seconds, shifted] of SHIFTS) {
    it(`T-17 a pre-roll of ${seconds} s shifts ${text} in the same form`, () => {
      assert.equal(shiftedBack(text, seconds), shifted);
    });
  }

  it('T-17 stays exactly as sent without a pre-roll', () => {
    assert.equal(shiftedBack(' 2026-03-04T05:06:07.1234567 ', 0), ' 2026-03-04T05:06:07.1234567 ');
  });

  it('T-17 is earlier by just the pre-roll, whatever its form', () => {
    const forms = record({
      at: date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true }),
      basic: boolean(),
      digits: integer({ min: 0, max: 9 }),
      zone: constantFrom('', 'Z', '+01:00', '-0330', '+02'),
      seconds: integer({ min: 1, max: 86_400 }),
    });
    check(
      property(forms, ({ at, basic, digits, zone, seconds }) => {
        const whole = at.toISOString().slice(0, 19);
        const fraction = digits === 0 ? '' : `.${'123456789'.slice(0, digits)}`;
        const text = `${basic ? whole.replaceAll(/[-:]/g, '') : whole}${fraction}${zone}`;
        const shifted = shiftedBack(text, seconds);
        assert.equal(shifted.length, text.length);
        assert.equal(Number(readTime(shifted)), Number(readTime(text)) - seconds * 1000);
      }),
    );
  });

  const GIVEN: [value: unknown, text: string][] = [
    ['2026-03-04T05:06:07', '2026-03-04T05:06:07'],
    [' 2026-03-04T05:06:07Z ', '2026-03-04T05:06:07Z'],
    ['20260304T050607.1Z', '20260304T050607.1Z'],
    ['20260304', '2026-03-04T00:00:00.000Z'],
    ['2026-03-04 05:06:07', '2026-03-04T05:06:07.000Z'],
    ['2026-03-04T05:06+01:00', '2026-03-04T04:06:00.000Z'],
    [Date.UTC(2026, 2, 4, 5, 6, 7), '2026-03-04T05:06:07.000Z'],
    ['1772600767000', '2026-03-04T05:06:07.000Z'],
    [new Date(Date.UTC(2026, 2, 4, 5, 6, 7)), '2026-03-04T05:06:07.000Z'],
  ];
  for (const [value, text] of GIVEN) {
    it(`is taken as ${text} where the user gives ${JSON.stringify(value)}`, () => {
      assert.equal(timeText(value), text);
    });
  }

  for (const value of [
    '',
    'yesterday',
    '2026-13-01',
    undefined,
    null,
    true,
    {},
    NaN,
    new Date(NaN),
    9e15,
    '20261121101112',
    1772600767,
    '1772600767',
  ]) {
    it(`is BAD_INPUT where the user gives ${inspect(value)}`, () => {
      assert.throws(() => timeText(value), { code: 'BAD_INPUT', message: /ISO 8601/ });
    });
  }
});
