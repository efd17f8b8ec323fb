import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import type { VideoFormat } from '../../../lib/video/media';
import { ClipMemory } from '../../../lib/video/mp4/clip-destination';
import { ClipWriter } from '../../../lib/video/mp4/clip-writer';
import { boxIn } from '../../support/rtp/foreign-streams';
import { byLane, slowIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import {
  B_FRAMES,
  encodedKind,
  encodedVideo,
  framesOfAStranger,
  pictures,
  retimed,
  shownPictures,
  soundsFrom,
  type EncodedKind,
  type EncodedVideo,
  withFormat,
} from '../../support/video/encoded-stream';
import {
  complaints,
  decoded,
  probed,
  shownTimes,
  topBoxes,
  writtenClip,
} from '../../support/video/played-clip';

/** Another way of coding within the same profile, which needs another picture parameter set. */
const OTHER_CODING = [...B_FRAMES, '-coder', '0'];

describe('A clip', () => {
  let baseline: EncodedVideo;
  let withSound: EncodedVideo;

  before(function () {
    needs(this, 'ffmpeg', 'ffprobe');
    baseline = encodedKind('H.264 without B-frames');
    withSound = encodedKind('H.264 with B-frames and AAC');
  });

  const OTHERS = ['H.264 without B-frames', 'H.264 with B-frames', 'H.265'] as const;
  for (const kind of byLane<EncodedKind>(['H.264 with B-frames and AAC'], OTHERS)) {
    it(`of ${kind} shows what the camera sent, picture by picture`, async () => {
      const video = encodedKind(kind);
      const { clip } = await writtenClip(video.frames);
      assert.equal(complaints(clip), '');
      assert.deepEqual(decoded(clip), video.decoded);
      assert.deepEqual(shownTimes(clip), shownPictures(video.frames));
    });

    it(`of ${kind} has its index before its pictures`, async () => {
      const { clip } = await writtenClip(encodedKind(kind).frames);
      assert.deepEqual(topBoxes(clip), ['ftyp', 'moov', 'mdat']);
    });

    it(`of ${kind} tells what ffprobe finds`, async () => {
      const { facts, clip } = await writtenClip(encodedKind(kind).frames);
      const { streams, format } = probed(clip);
      const { width, height, nb_frames = '' } = streams[0] ?? {};
      const sha256 = createHash('sha256').update(clip).digest('hex');
      const found = { frames: Number(nb_frames), width, height, bytes: clip.length, sha256 };
      assert.partialDeepStrictEqual(facts, found);
      assert.ok(Math.abs(facts.seconds - Number(format.duration)) < 0.001, `${facts.seconds}`);
    });
  }

  slowIt('of H.265 has the tag that all players take', async () => {
    const { facts, clip } = await writtenClip(encodedKind('H.265').frames);
    assert.equal(probed(clip).streams[0]?.codec_tag_string, 'hvc1');
    assert.match(facts.codecs, /^hvc1\./);
  });

  it('is sought to at IDR pictures, and at its first', async () => {
    const placesIn = (mp4: Buffer): number[] => {
      const table = boxIn(mp4, 'stss');
      return Array.from({ length: table.readUInt32BE(4) }, (_, index) => table.readUInt32BE(8 + index * 4));
    };
    const { frames } = encodedKind('H.264 with B-frames');
    assert.deepEqual(placesIn((await writtenClip(frames)).clip), [1, 21]);
    const open = pictures(frames).map((frame) => ({ ...frame, open: frame.key }));
    const { clip } = await writtenClip(open);
    assert.deepEqual(placesIn(clip), [1]);
    assert.equal(complaints(clip), '');
    assert.deepEqual(shownTimes(clip), shownPictures(open));
  });

  it('names the codecs of pictures and sound', async () => {
    const { facts, hasSound } = await writtenClip(withSound.frames);
    assert.deepEqual([facts.codecs, hasSound], ['avc1.4D400C, mp4a.40.2', true]);
  });

  describe('and its times', () => {
    it('begins at 0, whatever the clock of the stream says', async () => {
      for (const origin of [-12_345.6, 47_721.858]) {
        const { clip } = await writtenClip(retimed(withSound.frames, (time) => time + origin));
        const starts = probed(clip).streams.map(({ start_time }) => Number(start_time));
        assert.deepEqual(starts, [0, 0]);
      }
    });

    it('keeps the times of a stream whose rate varies', async () => {
      const uneven = retimed(baseline.frames, (time) => time + (time > 1 ? 0.35 : 0) + (time > 2 ? 1.2 : 0));
      const { clip } = await writtenClip(uneven);
      assert.equal(complaints(clip), '');
      assert.deepEqual(shownTimes(clip), shownPictures(uneven));
    });

    for (const [title, kind, leap, seconds, most] of [
      ['keeps a pause', 'H.264 without B-frames', 8, 12, 0.5],
      ['closes up where the clock of the camera jumps ahead', 'H.264 without B-frames', 3600, 4, 0.01],
      ['goes on where the clock of the camera jumps back', 'H.264 with B-frames and AAC', -3600, 4, 0.3],
    ] as const)
      it(title, async () => {
        const { frames } = encodedKind(kind);
        const { facts, clip } = await writtenClip(retimed(frames, (time) => time + (time < 2 ? 0 : leap)));
        assert.equal(complaints(clip), '');
        assert.ok(Math.abs(facts.seconds - seconds) < most, `${facts.seconds}`);
      });

    it('goes on where the clock of the camera stands still', async () => {
      const { facts, clip } = await writtenClip(retimed(baseline.frames, () => 5));
      assert.equal(facts.frames, 40);
      assert.equal(decoded(clip).length, 40);
    });

    it('takes whatever times a stranger sends', async () => {
      await fc.assert(
        fc.asyncProperty(framesOfAStranger(baseline, withSound, 60), async (frames) => {
          const { facts } = await writtenClip(frames);
          assert.ok(facts.seconds >= 0 && facts.seconds < 700, `${facts.seconds}`);
        }),
        { numRuns: 100, seed: 15 },
      );
    });
  });

  describe('and its beginning', () => {
    it('is the first key frame', async () => {
      const { facts, clip } = await writtenClip(pictures(baseline.frames).slice(5));
      assert.equal(facts.frames, 20);
      assert.equal(complaints(clip), '');
    });

    it('leaves out pictures that lean on others before it', async () => {
      // Decoded behind the key frame and shown before it: what a stream of open groups begins with.
      const [key = assert.fail(), first = assert.fail(), ...rest] = pictures(baseline.frames);
      const leading = [-0.2, -0.1].map((time) => ({ ...first, time }));
      const { facts } = await writtenClip([key, ...leading, first, ...rest]);
      assert.equal(facts.frames, 40);
    });

    it('leaves out pictures of a size that no MP4 can tell', async () => {
      const huge = withFormat(baseline.frames, () => ({ width: 70_000 }));
      const { facts } = await writtenClip([...huge, ...baseline.frames]);
      assert.equal(facts.frames, 40);
    });

    it('leaves out sound before it', async () => {
      const { clip } = await writtenClip(
        withSound.frames.map((frame) =>
          frame.kind === 'audio' ? { ...frame, time: frame.time - 1 } : frame,
        ),
      );
      const [, audio] = probed(clip).streams;
      assert.equal(Number(audio?.nb_frames), soundsFrom(withSound.frames, 1).length);
      assert.ok(Number(audio?.start_time) < 0.032);
    });

    it('waits for sound that comes later than its pictures', async () => {
      const late = withSound.frames.filter(({ kind, time }) => kind === 'video' || time > 0.9);
      const { clip } = await writtenClip(late);
      assert.equal(complaints(clip), '');
      const [, audio] = probed(clip).streams;
      assert.ok(Math.abs(Number(audio?.start_time) - 0.93) < 0.05, audio?.start_time);
    });

    it('does not wait for sound for ever', async () => {
      const late = withSound.frames.filter(({ kind, time }) => kind === 'video' || time > 3);
      const { facts, clip, hasSound } = await writtenClip(late);
      assert.deepEqual([facts.codecs, hasSound], ['avc1.4D400C', false]);
      assert.equal(probed(clip).streams.length, 1);
    });
  });

  describe('and its end', () => {
    for (const [what, kind] of [
      ['pictures of another size do', 'H.264 without B-frames, larger'],
      ['another profile does', 'H.264 with B-frames'],
    ] as const)
      slowIt(`comes where ${what}`, async () => {
        const others = retimed(encodedKind(kind).frames, (time) => time + 4);
        const { facts, clip, ended } = await writtenClip([...baseline.frames, ...others]);
        assert.deepEqual([ended, facts.frames, complaints(clip)], ['format changed', 40, '']);
      });

    slowIt(
      'does not come where other parameter sets do, again and again, of the same size and profile',
      async () => {
        const [first, second] = [encodedKind('H.264 with B-frames'), encodedVideo({ encoder: OTHER_CODING })];
        assert.notDeepEqual(first.video.description, second.video.description);
        const turns = [first, second, first, second];
        const { facts, clip, ended } = await writtenClip(
          turns.flatMap(({ frames }, turn) => retimed(frames, (time) => time + turn * 4)),
        );
        assert.deepEqual([ended, complaints(clip)], [undefined, '']);
        assert.ok(Math.abs(facts.seconds - 16) < 0.01, `${facts.seconds}`);
        const all = turns.flatMap((video) => video.decoded);
        assert.deepEqual(decoded(clip), all);
      },
    );

    const otherLevel = ({ description }: VideoFormat): Partial<VideoFormat> => {
      const other = Buffer.from(description);
      other[3] = 0x28;
      return { description: other, codecString: 'avc1.42C028' };
    };
    for (const [what, change] of [
      ['nothing but the level changes', otherLevel],
      [
        'the same parameter sets come again',
        ({ description }) => ({ description: Buffer.from(description) }),
      ],
    ] as [string, Parameters<typeof withFormat>[1]][])
      it(`does not come where ${what}`, async () => {
        const again = retimed(withFormat(baseline.frames, change), (time) => time + 4);
        const { facts, ended } = await writtenClip([...baseline.frames, ...again]);
        assert.deepEqual([ended, facts.frames], [undefined, 80]);
      });

    it('comes where it would be larger than it may be', async () => {
      const { facts, clip, ended } = await writtenClip(baseline.frames, new ClipMemory(40_000));
      assert.equal(ended, 'too large');
      assert.ok(facts.bytes < 42_000 && facts.frames > 10, JSON.stringify(facts));
      assert.equal(complaints(clip), '');
    });

    it('may be the first picture', async () => {
      const { facts, clip } = await writtenClip(baseline.frames.slice(0, 1));
      assert.deepEqual([facts.frames, facts.seconds, decoded(clip).length], [1, 0.04, 1]);
    });
  });

  it('without a picture is none', async () => {
    const writer = new ClipWriter(new ClipMemory());
    await assert.rejects(writer.finish(), { name: 'RvmError', code: 'VIDEO_FAILED' });
  });

  it('that is given up takes its bytes with it', async () => {
    const memory = new ClipMemory();
    const writer = new ClipWriter(memory);
    for (const frame of baseline.frames) await writer.add(frame);
    await writer.discard();
    assert.throws(() => memory.content);
  });
});
