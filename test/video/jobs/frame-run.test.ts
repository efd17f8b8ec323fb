import assert from 'node:assert/strict';
import { GroupOfPictures } from '../../../lib/video/jobs/pictures';
import { keyAt, MAIN, pictureAt } from '../../support/video/made-stream';

function runOf(...frames: ReturnType<typeof pictureAt>[]): GroupOfPictures {
  const run = new GroupOfPictures();
  for (const frame of frames) run.add(frame);
  return run;
}

describe('what can be decoded together', () => {
  it('has nothing while there is no picture', () => {
    assert.equal(new GroupOfPictures().has(0), false);
  });

  it('has what comes before its first picture: that one is shown', () => {
    assert.equal(runOf(keyAt(5)).has(4), true);
  });

  it('has a time without B-frames when a picture of that time is there', () => {
    const run = runOf(keyAt(0), pictureAt(0.2));
    assert.deepEqual([run.has(0.2), run.has(0.3)], [true, false]);
  });

  it('waits with B-frames for those that are shown earlier and come later', () => {
    const [first, p, b1, b2, next] = [
      keyAt(0),
      pictureAt(0.6),
      pictureAt(0.2),
      pictureAt(0.4),
      pictureAt(1.2),
    ].map((frame) => ({ ...frame, format: MAIN }));
    assert.ok(first && p && b1 && b2 && next);
    assert.equal(runOf(first, p).has(0.3), false);
    assert.equal(runOf(first, p, b1, b2).has(0.3), false);
    assert.equal(runOf(first, p, b1, b2, next).has(0.3), true);
  });

  it('has an end for pictures of no size, too', () => {
    const run = runOf(keyAt(0));
    assert.throws(
      () => {
        for (let count = 1; count < 200_000; count += 1) run.add(pictureAt(count));
      },
      { code: 'VIDEO_FAILED' },
    );
  });

  it('has an end: a camera without key frames does not fill the memory', () => {
    const run = runOf(keyAt(0));
    const nals = [Buffer.alloc(1024 * 1024)];
    assert.throws(
      () => {
        for (let count = 1; count < 40; count += 1) run.add(pictureAt(count, { nals }));
      },
      { code: 'VIDEO_FAILED' },
    );
  });

  it('has an end also where the pictures have next to no bytes', () => {
    const run = runOf(keyAt(0));
    assert.throws(
      () => {
        for (let count = 1; count < 100_000; count += 1) run.add(pictureAt(count));
      },
      { code: 'VIDEO_FAILED' },
    );
  });

  it('looks at each picture once, however many come before those that are waited for', () => {
    const run = runOf({ ...keyAt(0), format: MAIN }, { ...pictureAt(20), format: MAIN });
    const before = process.cpuUsage();
    for (let count = 1; count < 40_000; count += 1) {
      run.add({ ...pictureAt(count / 40_000), format: MAIN });
      assert.equal(run.has(10), false);
    }
    // Time of the processor: it was half a minute.
    assert.ok(process.cpuUsage(before).user < 4_000_000);
  });
});
