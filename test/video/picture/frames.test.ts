import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { Decoder } from '../../../lib/video/picture/decoder';
import { nightlyIt, slowIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import { withFormat } from '../../support/video/encoded-stream';
import { encodedVideo, FRAMES_PER_SECOND, numberIn } from '../../support/video/encoded-video';
import { withoutUsability } from '../../support/video/made-stream';

const { signal } = new AbortController();
const X264 = '-c:v libx264 -preset veryfast -g 12 -sc_threshold 0';
const X265 = '-c:v libx265 -preset veryfast -x265-params log-level=none:keyint=12:min-keyint=12:scenecut=0';

const STREAMS = {
  'H.264 without B-frames': { encoder: `${X264} -bf 0` },
  'H.264 with B-frames': { encoder: `${X264} -bf 3` },
  'H.264 with B-frames and open GOPs': { encoder: `${X264} -bf 3 -x264-params open-gop=1` },
  'H.265': { encoder: `${X265}:bframes=0` },
  'H.265 with B-frames and open GOPs': { encoder: `${X265}:bframes=3:open-gop=1` },
} as const;
/** What tells most. */
const FIRST: keyof typeof STREAMS = 'H.264 with B-frames';

describe('the picture of a time', () => {
  const decoder = new Decoder();
  const shown = async (frames: readonly VideoFrame[], time: number): Promise<number> =>
    numberIn((await decoder.picture(frames, time, { signal })).jpeg);

  before(function () {
    needs(this, 'ffmpeg', 'ffprobe');
  });
  after(() => decoder.close());

  for (const [name, stream] of Object.entries(STREAMS))
    describe(`of ${name}`, () => {
      let frames: VideoFrame[] = [];
      before(async () => {
        frames = await encodedVideo({ count: 36, ...stream });
      });

      const isFirst = name === FIRST;
      if (isFirst)
        it('is that picture of a run, not the key frame before it', async () => {
          for (const number of [2, 13])
            assert.equal(await shown(frames, (number + 0.5) / FRAMES_PER_SECOND), number);
        });

      (isFirst ? slowIt : nightlyIt)('is each picture of a run, not the key frame before it', async () => {
        for (let number = 0; number < 14; number += 1)
          assert.equal(await shown(frames, (number + 0.5) / FRAMES_PER_SECOND), number);
      });

      slowIt('is also right where decoding begins in the middle of the stream', async () => {
        const key = frames.findIndex((frame, i) => i > 0 && frame.key);
        const first = Math.round((frames[key]?.time ?? 0) * FRAMES_PER_SECOND);
        assert.ok(first > 0);
        const run = frames.slice(key);
        for (let number = first; number < first + 5; number += 1)
          assert.equal(await shown(run, number / FRAMES_PER_SECOND), number);
        assert.equal(await shown(run, 0), first);
      });
    });

  slowIt(
    'is also right where the parameter sets do not say that pictures are decoded before they are shown',
    async () => {
      const frames = await encodedVideo({ count: 12, encoder: `${X264} -bf 3 -profile:v main` });
      const silent = withFormat(frames, ({ parameterSets: [set = assert.fail(), ...others] }) => ({
        parameterSets: [withoutUsability(set), ...others],
      }));
      for (const number of [0, 1, 2, 3, 4, 9])
        assert.equal(await shown(silent, number / FRAMES_PER_SECOND), number);
    },
  );

  it('is the last one where the video ends before it', async () => {
    const frames = await encodedVideo({ count: 5, encoder: `${X264} -bf 3` });
    assert.equal(await shown(frames, 99), 4);
  });

  slowIt('is none of what cannot be decoded', async () => {
    const frames = await encodedVideo({ count: 5, encoder: `${X264} -bf 0` });
    const garbage = frames.map((frame) => ({ ...frame, nals: [Buffer.alloc(5000, 0x55)] }));
    const error = { code: 'VIDEO_FAILED', message: /may be damaged/ };
    await assert.rejects(decoder.picture(garbage, 0.5, { signal }), error);
  });
});
