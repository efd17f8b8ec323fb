import assert from 'node:assert/strict';
import { wantedAt } from '../../../lib/video/picture/wanted-picture';
import { madeFrames } from '../../support/video/made-stream';

describe('the frames for the picture of a time', () => {
  const GROUPS = '0K 1 2K 3 4K 5';
  const REORDERED = '0K 4 2 1 3 8 6';
  /** What a decoder is given, by time, and how many of it are shown before the wanted one. */
  for (const [title, times, time, frames, before] of [
    ['end with the one that is shown at it', '0K 1 2 3 4', 2, '0 1 2', 2],
    ['end with the last one shown before it where none is shown at it', '0K 1 2 3 4', 2.9, '0 1 2', 2],
    ['end with the last one of all where it is later', '0K 1 2 3 4', 99, '0 1 2 3 4', 4],
    ['end with the one that is shown at it but for rounding', '0K 1 2.001 3', 2, '0 1 2.001', 2],
    ['end before one that is later by more than that', '0K 1 2.01 3', 2, '0 1', 1],
    ['are the first alone where all are later', '5K 6 7', 2, '5', 0],
    ['begin with the last key frame that is shown before it', GROUPS, 3, '2 3', 1],
    ['begin with the key frame that is shown at it', GROUPS, 4, '4', 0],
    ['are counted in the order in which they are shown, not decoded', REORDERED, 1, '0 4 2 1', 1],
    ['are counted so where more is decoded before', REORDERED, 3, '0 4 2 1 3', 3],
    ['are counted so where less is', REORDERED, 4, '0 4', 1],
    ['reach over a key frame that is shown later and decoded before', '0K 4K 2 3 5', 3, '0 4 2 3', 2],
    ['leave out what is shown before the key frame that they begin with', '0K 4K 2 3 5', 5, '4 5', 1],
    ['are none shown before the first key frame, for they cannot be decoded', '4K 2 3 5', 3, '4', 0],
    ['leave those out, too, where a later one is wanted', '4K 2 3 5', 5, '4 5', 1],
    ['are none decoded before the first key frame', '0 1 2K 3', 1, '2', 0],
    ['end with the last one decoded of those shown at the same time', '0K 1 1 2', 1, '0 1 1', 2],
  ] as const)
    it(title, () => {
      const found = wantedAt(madeFrames(times), time);
      assert.deepEqual([found?.frames.map((frame) => frame.time).join(' '), found?.before], [frames, before]);
    });

  it('are none where there is no key frame', () => {
    for (const frames of [madeFrames('0 1 2'), []]) assert.equal(wantedAt(frames, 1), undefined);
  });
});
