import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { MediaFrame } from '../../../lib/video/media';
import { ClipMemory } from '../../../lib/video/mp4/clip-destination';
import { ClipWriter } from '../../../lib/video/mp4/clip-writer';
import { FragmentWriter } from '../../../lib/video/mp4/fragment-writer';
import { testBrowser } from '../../support/editor/browser';
import { boxIn, received, receiverOf, ended, pushedStream } from '../../support/rtp/foreign-streams';
import { sdpMedia } from '../../support/rtp/sender';
import { byLane, nightlyIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import { complaints, probed, playFile, playPieces } from '../../support/video/played-clip';

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
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-pixels-'));
  try {
    const mp4 = path.join(folder, 'pal.mp4');
    const source = ['-f', 'lavfi', '-i', 'testsrc2=size=704x576:rate=10', '-frames:v', '12'];
    const shaped = ['-vf', `setsar=${shape}`, '-pix_fmt', 'yuv420p', '-g', '10', '-c:v', ...encoder];
    await ended('ffmpeg', ['-v', 'error', '-y', ...source, ...shaped, mp4]);
    const stream = await pushedStream(['-i', mp4, '-c', 'copy']);
    return received(receiverOf(sdpMedia(stream.sdp)[0]), stream);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function clipOf(frames: readonly MediaFrame[]): Promise<Buffer> {
  const memory = new ClipMemory();
  const writer = new ClipWriter(memory);
  for (const frame of frames) await writer.add(frame);
  await writer.finish();
  return memory.content;
}

function piecesOf(frames: readonly MediaFrame[]): { type: string; pieces: Buffer[] } {
  const writer = new FragmentWriter();
  const pieces = [...frames.flatMap((frame) => writer.add(frame)), ...writer.end()];
  return { type: writer.mimeType, pieces };
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
      const clip = await clipOf(frames);
      const [video] = probed(clip).streams;
      assert.deepEqual(
        [video?.width, video?.height, video?.sample_aspect_ratio, video?.display_aspect_ratio],
        [704, 576, '16:11', '16:9'],
      );
      assert.equal(complaints(clip), '');
      for (const mp4 of [clip, Buffer.concat(piecesOf(frames).pieces)]) {
        assert.equal(boxIn(mp4, 'pasp').toString('hex'), '000000100000000b');
        assert.deepEqual(trackSize(mp4), [1024, 576]);
      }
    });

  it('are told of where they are not alone', async () => {
    const frames = await framesOf(ENCODERS['H.264'] ?? [], '1');
    for (const mp4 of [await clipOf(frames), Buffer.concat(piecesOf(frames).pieces)]) {
      assert.equal(mp4.includes('pasp'), false);
      assert.deepEqual(trackSize(mp4), [704, 576]);
    }
  });

  nightlyIt('are as wide in Chromium', async function () {
    needs(this, 'chromium');
    const browser = await testBrowser();
    try {
      const frames = await framesOf(ENCODERS['H.264'] ?? []);
      const { type, pieces } = piecesOf(frames);
      for (const played of [
        await playFile(browser, await clipOf(frames)),
        await playPieces(browser, type, pieces),
      ])
        assert.deepEqual([played.error, played.width], ['', 1024]);
    } finally {
      await browser.close();
    }
  });
});
