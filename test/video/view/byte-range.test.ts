import assert from 'node:assert/strict';
import { byteRange } from '../../../lib/video/view/http';

describe('the range of a file of ten bytes', () => {
  const cases: [header: string | undefined, range: ReturnType<typeof byteRange>][] = [
    ['bytes=0-0', { first: 0, last: 0 }],
    ['bytes=2-5', { first: 2, last: 5 }],
    ['bytes=7-', { first: 7, last: 9 }],
    ['bytes=4-99', { first: 4, last: 9 }],
    ['bytes=-3', { first: 7, last: 9 }],
    ['bytes=-99', { first: 0, last: 9 }],
    ['bytes=10-', 'outside'],
    ['bytes=99-100', 'outside'],
    ['bytes=-0', 'outside'],
    // Not understood, or of no sense: the whole file.
    [undefined, undefined],
    ['bytes=-', undefined],
    ['bytes=5-2', undefined],
    ['bytes=0-1,4-5', undefined],
    ['lines=1-2', undefined],
    [`bytes=${'9'.repeat(400)}-`, undefined],
  ];
  for (const [header, range] of cases) {
    it(`is ${JSON.stringify(range) ?? 'all of it'} for ${header?.slice(0, 40) ?? 'no header'}`, () => {
      assert.deepEqual(byteRange(header, 10), range);
    });
  }

  it('is nowhere in a file without bytes', () => {
    assert.equal(byteRange('bytes=0-', 0), 'outside');
    assert.equal(byteRange('bytes=-1', 0), 'outside');
  });
});
