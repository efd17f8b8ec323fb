import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { ClipMemory } from '../../../lib/video/mp4/clip-destination';
import { ClipWriter } from '../../../lib/video/mp4/clip-writer';
import { FragmentWriter } from '../../../lib/video/mp4/fragment-writer';
import { keyAt, MAIN, pictureAt, SOUND, soundAt } from '../../support/video/made-stream';

/** H.264 with no set in its record, which is enough to be written. */
const FORMAT = { ...MAIN, description: Buffer.from('014d401fffe000', 'hex') };
describe('video of a relay that sends far more frames than a camera', () => {
  const key = (time: number): VideoFrame => keyAt(time, { format: FORMAT });
  const picture = (time: number): VideoFrame => pictureAt(time, { format: FORMAT });
  it('ends a clip, before its index fills the memory', async () => {
    const writer = new ClipWriter(new ClipMemory());
    await writer.add(key(0));
    let count = 1;
    while (count < 10_000 && (await writer.add(picture(count / 90_000)))) count += 1;
    const { frames } = await writer.finish();
    assert.deepEqual([writer.ended, frames < 2000], ['too large', true]);
  });

  it('leaves a clip whole with as many pictures as the fastest cameras have', async () => {
    const writer = new ClipWriter(new ClipMemory());
    await writer.add(key(0));
    for (let count = 1; count < 3000; count += 1) assert.ok(await writer.add(picture(count / 240)));
    const { frames } = await writer.finish();
    assert.equal(frames, 3000);
  });

  it('leaves sound out of a view that no picture comes with', () => {
    const writer = new FragmentWriter(SOUND);
    for (const frame of [key(0), soundAt(0.01), picture(0.5), picture(1), picture(1.5)]) writer.add(frame);
    for (let count = 0; count < 100_000; count += 1) writer.add(soundAt(1.5 + count / 100_000));
    const given = Buffer.concat(writer.add(picture(2)));
    assert.ok(given.length < 1024 * 1024, String(given.length));
  });
});
