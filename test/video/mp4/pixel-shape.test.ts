import assert from 'node:assert/strict';
import type { MediaFrame } from '../../../lib/video/media';
import { testBrowser } from '../../support/editor/browser';
import { boxIn, received, receiverOf, pushedStream } from '../../support/rtp/foreign-streams';
import { sdpMedia } from '../../support/rtp/sender';
import { byLane, nightlyIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import {
  complaints,
  probed,
  playFile,
  playPieces,
  writtenClip,
  writtenFragments,
} from '../../support/video/played-clip';

const X265 = 'log-level=none:bframes=0';
const ENCODERS: Record<string, readonly string[]> = {
  'H.264': ['libx264', '-profile:v', 'baseline'],
  'H.264 with scaling lists': ['libx264', '-x264-params', 'cqm=jvt'],
  'H.265': ['libx265', '-x265-params', X265],
  'H.265 with scaling lists, layers of time and B-frames': [
    'libx265',
    '-x265-params',
    'log-level=none:scaling-list=default:temporal-layers=1:bframes=4:ref=5:rd=3',
  ],
};

/** What comes of PAL as DVRs record it: 704 x 576 pixels that are shown as 1024 x 576. */
async function framesOf(encoder: readonly string[], shape = '16/11'): Promise<MediaFrame[]> {
  const source = ['-f', 'lavfi', '-i', 'testsrc2=size=704x576:rate=10', '-frames:v', '12'];
  const shaped = ['-vf', `setsar=${shape}`, '-pix_fmt', 'yuv420p', '-g', '10', '-c:v', ...encoder];
  const stream = await pushedStream([...source, ...shaped]);
  return received(receiverOf(sdpMedia(stream.sdp)[0]), stream);
}

/** Width and height in pixels that a player gives the track: it ends the box with them. */
function trackSize(mp4: Buffer): [number, number] {
  const at = mp4.indexOf('tkhd', 0, 'latin1') - 4;
  const end = at + mp4.readUInt32BE(at);
  return [mp4.readUInt32BE(end - 8) / 0x10000, mp4.readUInt32BE(end - 4) / 0x10000];
}

const OTHERS = Object.keys(ENCODERS).filter((name) => name.includes(' with '));

describe('pixels that are not square', () => {
  before(function () {
    needs(this, 'ffmpeg', 'ffprobe');
  });

  for (const name of byLane(['H.264'], ['H.265'], OTHERS))
    it(`of ${name} are shown in their shape`, async () => {
      const frames = await framesOf(ENCODERS[name] ?? []);
      const { clip } = await writtenClip(frames);
      const [video] = probed(clip).streams;
      const shape = { width: 704, height: 576, sample_aspect_ratio: '16:11', display_aspect_ratio: '16:9' };
      assert.partialDeepStrictEqual(video, shape);
      assert.equal(complaints(clip), '');
      for (const mp4 of [clip, writtenFragments(frames).mp4]) {
        assert.equal(boxIn(mp4, 'pasp').toString('hex'), '000000100000000b');
        assert.deepEqual(trackSize(mp4), [1024, 576]);
      }
    });

  it('are told of where they are not alone', async () => {
    const frames = await framesOf(ENCODERS['H.264'] ?? [], '1');
    for (const mp4 of [(await writtenClip(frames)).clip, writtenFragments(frames).mp4]) {
      assert.equal(mp4.includes('pasp'), false);
      assert.deepEqual(trackSize(mp4), [704, 576]);
    }
  });

  nightlyIt('are as wide in Chromium', async function () {
    needs(this, 'chromium');
    const browser = await testBrowser();
    try {
      const frames = await framesOf(ENCODERS['H.264'] ?? []);
      const [{ clip }, { type, pieces }] = [await writtenClip(frames), writtenFragments(frames)];
      for (const played of [await playFile(browser, clip), await playPieces(browser, type, pieces)])
        assert.deepEqual([played.error, played.width], ['', 1024]);
    } finally {
      await browser.close();
    }
  });
});
