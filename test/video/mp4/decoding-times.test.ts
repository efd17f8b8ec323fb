import assert from 'node:assert/strict';
import { array, assert as check, integer, property } from 'fast-check';
import { DecodingTimes } from '../../../lib/video/mp4/fragment-writer';

/** Of pictures that are shown at these times and come in this order. */
function decodingTimes(shown: readonly number[], before: readonly number[] = []): number[] {
  const times = new DecodingTimes(before);
  return shown.map((time) => times.next(time));
}

describe('Times of decoding', () => {
  it('are those of showing where the order is the same', () => {
    assert.deepEqual(decodingTimes([0, 10, 20, 35]), [0, 10, 20, 35]);
  });

  it('lie before those of showing where pictures are held back', () => {
    // A pyramid: the middle one of three comes first.
    const shown = [20, 60, 40, 30, 50, 100, 80, 70, 90];
    assert.deepEqual(decodingTimes(shown, [0, 10]), [0, 10, 20, 30, 40, 50, 60, 70, 80]);
  });

  it('are made up while it comes as a surprise that pictures are held back, and fall into step', () => {
    const shown = [0, 10, 40, 20, 30, 70, 50, 60, 100, 80, 90];
    assert.deepEqual(decodingTimes(shown), [0, 10, 40, 41, 42, 43, 44, 50, 60, 70, 80]);
  });

  it('grow with each picture, whatever the times of showing are', () => {
    check(
      property(array(integer({ min: 0, max: 1000 })), (shown) => {
        const times = decodingTimes(shown);
        for (const [index, time] of times.entries()) assert.ok(index === 0 || time > (times[index - 1] ?? 0));
      }),
      { seed: 15 },
    );
  });
});
