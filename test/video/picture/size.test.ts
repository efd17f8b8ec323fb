import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { Decoder, type Jpeg } from '../../../lib/video/picture/decoder';
import { slowIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import { encodedVideo, numberIn } from '../../support/video/encoded-video';

const { signal } = new AbortController();
const ENCODER = '-c:v libx264 -bf 0';

describe('the size of a picture', () => {
  const decoder = new Decoder();
  let frames: VideoFrame[] = [];

  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    frames = await encodedVideo({ count: 1, encoder: ENCODER, scale: 2 });
  });
  after(() => decoder.close());

  const sizeOf = async (width?: number, from = frames): Promise<string> => {
    const picture = await decoder.picture(from, 0, { width, signal });
    return `${picture.width}x${picture.height}`;
  };

  for (const [what, width, size] of [
    ['that of the video where none is asked for', undefined, '640x360'],
    ['scaled down to a width, in the same shape', 320, '320x180'],
    ['scaled down to even numbers', 101, '100x56'],
    ['scaled down as far as may be', 16, '16x10'],
    ['never scaled up', 4096, '640x360'],
  ] as const)
    it(`is ${what}`, async () => assert.equal(await sizeOf(width), size));

  slowIt('is the one shown where the pixels of the video are not square', async () => {
    const wide = await encodedVideo({ count: 1, encoder: ENCODER, pixel: '4/3' });
    assert.equal(await sizeOf(undefined, wide), '426x180');
    assert.equal(await sizeOf(214, wide), '214x90');
  });

  slowIt('is also that of video with ten bits a colour', async () => {
    const deep = '-pix_fmt yuv420p10le -c:v libx265 -x265-params log-level=none';
    assert.equal(await sizeOf(160, await encodedVideo({ count: 1, encoder: deep })), '160x90');
  });
});

describe('a sheet', () => {
  const decoder = new Decoder();
  let pictures: Jpeg[] = [];

  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    const frames = await encodedVideo({ count: 9, encoder: ENCODER });
    pictures = await Promise.all(frames.map(({ time }) => decoder.picture(frames, time, { signal })));
  });
  after(() => decoder.close());

  const sizeOf = async (count: number, width?: number): Promise<string> => {
    const sheet = await decoder.sheet(pictures.slice(0, count), { width, signal });
    return `${sheet.width}x${sheet.height}`;
  };

  it('has rows of up to three cells', async () => {
    const sizes = await Promise.all([1, 3, 4, 5, 9].map((count) => sizeOf(count)));
    assert.deepEqual(sizes, ['320x180', '968x180', '644x364', '968x364', '968x548']);
  });

  slowIt('is as wide as asked for at most', async () => {
    assert.equal(await sizeOf(9, 640), '638x362');
    assert.equal(await sizeOf(2, 16), '16x2');
  });

  slowIt(
    'shows all pictures in their order, from left to right, also where one has another size',
    async () => {
      const [first, second, ...others] = pictures;
      assert.ok(first && second);
      const frames = await encodedVideo({ count: 2, encoder: ENCODER, scale: 2 });
      const larger = await decoder.picture(frames, 1, { signal });
      const { jpeg } = await decoder.sheet([first, larger, ...others], { signal });
      for (let cell = 0; cell < 9; cell += 1) {
        const at = { x: (cell % 3) * 324, y: Math.floor(cell / 3) * 184 };
        assert.equal(await numberIn(jpeg, at), cell);
      }
    },
  );
});
