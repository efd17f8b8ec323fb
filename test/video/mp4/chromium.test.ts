import assert from 'node:assert/strict';
import type { AudioFormat, MediaFrame } from '../../../lib/video/media';
import { h264 } from '../../../lib/video/rtp/h264';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { videoPayloads } from '../../../sandbox/rtsp/media/packets';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { medium, RATE, RtpSender, videoOf } from '../../support/rtp/sender';
import { needs } from '../../support/suite/programs';
import {
  encodedKind,
  encodedVideo,
  pictures,
  retimed,
  type EncodedVideo,
} from '../../support/video/encoded-stream';
import {
  playFile,
  playPieces,
  writtenClip,
  writtenFragments,
  type Played,
} from '../../support/video/played-clip';

describe('Chromium plays', () => {
  let browser: TestBrowser;

  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe', 'chromium');
    browser = await testBrowser();
  });

  after(() => browser?.close());

  async function playedFragments(frames: readonly MediaFrame[], audio?: AudioFormat): Promise<Played> {
    const { type, pieces } = writtenFragments(frames, audio);
    return playPieces(browser, type, pieces);
  }

  function assertWhole(played: Played, seconds: number): void {
    assert.equal(played.error, '');
    assert.equal(played.buffered.length, 1, JSON.stringify(played.buffered));
    const [[begin, end] = [NaN, NaN]] = played.buffered;
    assert.ok(Math.abs(end - begin - seconds) < 0.15, JSON.stringify(played.buffered));
    assert.ok(Math.abs(played.time - end) < 0.15, JSON.stringify(played));
  }

  const KINDS = ['H.264 with B-frames and AAC', 'H.264 without B-frames', 'H.264 with B-frames'] as const;
  for (const kind of KINDS)
    for (const [what, played] of [
      ['a clip', async ({ frames }) => playFile(browser, (await writtenClip(frames)).clip)],
      ['fragments', ({ frames, audio }) => playedFragments(frames, audio)],
    ] as [string, (video: EncodedVideo) => Promise<Played>][])
      it(`${what} of ${kind}`, async () => {
        const shown = await played(encodedKind(kind));
        assertWhole(shown, 4);
        assert.deepEqual([shown.width, shown.soundBytes > 0], [320, kind.endsWith('AAC')]);
      });

  it('fragments of a stream whose rate varies, without a gap', async () => {
    const frames = encodedKind('H.264 without B-frames').frames;
    const uneven = retimed(frames, (time) => time + (time > 1 ? 0.35 : 0) + (time > 2 ? 1.2 : 0));
    assertWhole(await playedFragments(uneven), 5.55);
  });

  it('fragments of a stream whose format changes', async () => {
    const larger = encodedKind('H.264 without B-frames, larger');
    const first = encodedKind('H.264 without B-frames').frames;
    const played = await playedFragments([...first, ...retimed(larger.frames, (time) => time + 4)]);
    assertWhole(played, 8);
    assert.equal(played.width, 640);
  });

  it('fragments of a stream that begins to show pictures in another order later on', async () => {
    const first = encodedKind('H.264 without B-frames').frames;
    const second = encodedKind('H.264 with B-frames').frames;
    assertWhole(await playedFragments([...first, ...retimed(second, (time) => time + 4)]), 8);
  });

  it('fragments of a camera without IDR pictures, whose intra pictures say nothing of it', async () => {
    const openGroups = ['-g', '10', '-bf', '1', '-b_strategy', '0', '-x264-params', 'open-gop=1'];
    const { video, frames } = encodedVideo({ encoder: ['libx264', '-profile:v', 'main', ...openGroups] });
    const sets = video.parameterSets;
    const receiver = new TrackReceiver(medium());
    const sender = new RtpSender();
    const first = pictures(frames).findLastIndex(({ key }, place) => key && place < 15);
    const passed = pictures(frames.slice(first)).flatMap(({ key, nals, time }) => {
      sender.rtpTime = 5000 + Math.round(time * RATE);
      const slices = nals.filter((nal) => h264.roleOf(nal) === 'slice');
      return videoOf(receiver, sender.picture([...(key ? sets : []), ...videoPayloads('h264', slices)]));
    });
    const played = await playedFragments([...passed, ...receiver.flush()]);
    assert.deepEqual([played.error, played.width], ['', 320]);
    assert.ok(played.time > 2, JSON.stringify(played));
  });

  it('fragments from a key frame in the middle on', async () => {
    const video = encodedKind('H.264 with B-frames and AAC');
    const { type, pieces } = writtenFragments(video.frames, video.audio);
    assertWhole(await playPieces(browser, type, [...pieces.slice(0, 1), ...pieces.slice(21)]), 2);
  });
});
