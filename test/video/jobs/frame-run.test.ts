import assert from 'node:assert/strict';
import { GroupOfPictures } from '../../../lib/video/jobs/pictures';
import type { VideoFrame } from '../../../lib/video/media';
import { keyAt, MAIN, pictureAt } from '../../support/video/made-stream';

function groupOf(...frames: VideoFrame[]): GroupOfPictures {
  const group = new GroupOfPictures();
  for (const frame of frames) group.add(frame);
  return group;
}

/** The first is a key frame, of a profile that may have B-frames. */
const reordered = (...times: number[]): VideoFrame[] =>
  times.map((time, index) => pictureAt(time, { key: index === 0, format: MAIN }));

describe('what can be decoded together', () => {
  for (const [title, frames, time, has] of [
    ['has nothing while there is no picture', [], 0, false],
    ['has what comes before its first picture: that one is shown', [keyAt(5)], 4, true],
    ['has a time without B-frames when a picture of it is there', [keyAt(0), pictureAt(0.2)], 0.2, true],
    ['has none that is later than its last picture', [keyAt(0), pictureAt(0.2)], 0.3, false],
    ['waits with B-frames for those shown earlier', reordered(0, 0.6), 0.3, false],
    ['waits with B-frames for all of them', reordered(0, 0.6, 0.2, 0.4), 0.3, false],
    ['has a time with B-frames once a later one has come', reordered(0, 0.6, 0.2, 0.4, 1.2), 0.3, true],
  ] as const)
    it(title, () => assert.equal(groupOf(...frames).has(time), has));

  for (const [what, count, bytes] of [
    ['a camera without key frames does not fill the memory', 40, 1024 * 1024],
    ['nor where its pictures have next to no bytes', 100_000, 1],
  ] as const)
    it(`has an end: ${what}`, () => {
      const nals = [Buffer.alloc(bytes)];
      const pictures = Array.from({ length: count }, (_, at) => pictureAt(at + 1, { nals }));
      assert.throws(() => groupOf(keyAt(0), ...pictures), { code: 'VIDEO_FAILED' });
    });

  it('looks at each picture once, however many come before those that are waited for', () => {
    const group = groupOf(...reordered(0, 20));
    const before = process.cpuUsage();
    for (let count = 1; count < 40_000; count += 1) {
      group.add(pictureAt(count / 40_000, { format: MAIN }));
      assert.equal(group.has(10), false);
    }
    // Time of the processor: it was half a minute.
    assert.ok(process.cpuUsage(before).user < 4_000_000);
  });
});
