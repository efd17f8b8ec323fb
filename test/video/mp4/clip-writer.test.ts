import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { RvmError } from '../../../lib/error';
import type { MediaFrame, VideoFrame } from '../../../lib/video/media';
import { ClipMemory } from '../../../lib/video/mp4/clip-destination';
import { ClipWriter, type ClipEnd, type ClipFacts } from '../../../lib/video/mp4/clip-writer';
import { boxIn } from '../../support/rtp/foreign-streams';
import { byLane, slowIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import {
  B_FRAMES,
  encodedKind,
  encodedVideo,
  pictures,
  retimed,
  shownPictures,
  soundsFrom,
  type EncodedKind,
  type EncodedVideo,
} from '../../support/video/encoded-stream';
import { complaints, decoded, probed, shownTimes, topBoxes } from '../../support/video/played-clip';

interface Written {
  facts: ClipFacts;
  clip: Buffer;
  ended: ClipEnd | undefined;
  hasSound: boolean;
}

async function written(frames: readonly MediaFrame[], memory = new ClipMemory()): Promise<Written> {
  const writer = new ClipWriter(memory);
  for (const frame of frames) if (!(await writer.add(frame))) break;
  const facts = await writer.finish();
  return { facts, clip: memory.content, ended: writer.ended, hasSound: writer.hasSound };
}

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
      const { clip } = await written(video.frames);
      assert.equal(complaints(clip), '');
      assert.deepEqual(decoded(clip), video.decoded);
      assert.deepEqual(shownTimes(clip), shownPictures(video.frames));
    });

    it(`of ${kind} has its index before its pictures`, async () => {
      const { clip } = await written(encodedKind(kind).frames);
      assert.deepEqual(topBoxes(clip), ['ftyp', 'moov', 'mdat']);
    });

    it(`of ${kind} tells what ffprobe finds`, async () => {
      const { facts, clip } = await written(encodedKind(kind).frames);
      const { streams, format } = probed(clip);
      const [track] = streams;
      assert.equal(facts.frames, Number(track?.nb_frames));
      assert.equal(facts.width, track?.width);
      assert.equal(facts.height, track?.height);
      assert.ok(Math.abs(facts.seconds - Number(format.duration)) < 0.001, `${facts.seconds}`);
      assert.equal(facts.bytes, clip.length);
      assert.equal(facts.sha256, createHash('sha256').update(clip).digest('hex'));
    });
  }

  slowIt('of H.265 has the tag that all players take', async () => {
    const { facts, clip } = await written(encodedKind('H.265').frames);
    assert.equal(probed(clip).streams[0]?.codec_tag_string, 'hvc1');
    assert.match(facts.codecs, /^hvc1\./);
  });

  it('is sought to at IDR pictures, and at its first', async () => {
    const placesIn = (mp4: Buffer): number[] => {
      const table = boxIn(mp4, 'stss');
      return Array.from({ length: table.readUInt32BE(4) }, (_, index) => table.readUInt32BE(8 + index * 4));
    };
    const { frames } = encodedKind('H.264 with B-frames');
    assert.deepEqual(placesIn((await written(frames)).clip), [1, 21]);
    const open = pictures(frames).map((frame) => ({ ...frame, open: frame.key }));
    const { clip } = await written(open);
    assert.deepEqual(placesIn(clip), [1]);
    assert.equal(complaints(clip), '');
    assert.deepEqual(shownTimes(clip), shownPictures(open));
  });

  it('names the codecs of pictures and sound', async () => {
    const { facts, hasSound } = await written(withSound.frames);
    assert.deepEqual([facts.codecs, hasSound], ['avc1.4D400C, mp4a.40.2', true]);
  });

  describe('and its times', () => {
    it('begins at 0, whatever the clock of the stream says', async () => {
      for (const origin of [-12_345.6, 47_721.858]) {
        const { clip } = await written(retimed(withSound.frames, (time) => time + origin));
        const [video, audio] = probed(clip).streams;
        assert.equal(Number(video?.start_time), 0);
        assert.equal(Number(audio?.start_time), 0);
      }
    });

    it('keeps the times of a stream whose rate varies', async () => {
      const uneven = retimed(baseline.frames, (time) => time + (time > 1 ? 0.35 : 0) + (time > 2 ? 1.2 : 0));
      const { clip } = await written(uneven);
      assert.equal(complaints(clip), '');
      assert.deepEqual(shownTimes(clip), shownPictures(uneven));
    });

    it('keeps a pause', async () => {
      const { facts } = await written(retimed(baseline.frames, (time) => (time < 2 ? time : time + 8)));
      assert.ok(Math.abs(facts.seconds - 12) < 0.5, `${facts.seconds}`);
    });

    it('closes up where the clock of the camera jumps ahead', async () => {
      const { facts, clip } = await written(
        retimed(baseline.frames, (time) => (time < 2 ? time : time + 3600)),
      );
      assert.equal(complaints(clip), '');
      assert.ok(Math.abs(facts.seconds - 4) < 0.01, `${facts.seconds}`);
    });

    it('goes on where the clock of the camera jumps back', async () => {
      const { facts, clip } = await written(
        retimed(withSound.frames, (time) => (time < 2 ? time : time - 3600)),
      );
      assert.equal(complaints(clip), '');
      assert.ok(Math.abs(facts.seconds - 4) < 0.3, `${facts.seconds}`);
    });

    it('goes on where the clock of the camera stands still', async () => {
      const { facts, clip } = await written(retimed(baseline.frames, () => 5));
      assert.equal(facts.frames, 40);
      assert.equal(decoded(clip).length, 40);
    });

    it('takes whatever times a stranger sends', async () => {
      const [key, other] = pictures(baseline.frames);
      assert.ok(key !== undefined && other !== undefined);
      const time = fc.oneof(fc.double(), fc.double({ min: -30, max: 30 }), fc.constant(1e300));
      const sent = fc.array(fc.record({ time, key: fc.boolean(), sound: fc.boolean() }), { maxLength: 60 });
      const sound = withSound.frames.find(({ kind }) => kind === 'audio');
      assert.ok(sound !== undefined);
      await fc.assert(
        fc.asyncProperty(sent, async (list) => {
          const frames = list.map((each): MediaFrame => {
            const frame = each.key ? key : other;
            return each.sound ? { ...sound, time: each.time } : { ...frame, time: each.time };
          });
          const { facts } = await written([key, ...frames]);
          assert.ok(facts.seconds >= 0 && facts.seconds < 700, `${facts.seconds}`);
        }),
        { numRuns: 100, seed: 15 },
      );
    });
  });

  describe('and its beginning', () => {
    it('is the first key frame', async () => {
      const { facts, clip } = await written(pictures(baseline.frames).slice(5));
      assert.equal(facts.frames, 20);
      assert.equal(complaints(clip), '');
    });

    it('leaves out pictures that lean on others before it', async () => {
      // Decoded behind the key frame and shown before it: what a stream of open groups begins with.
      const [key, ...rest] = pictures(baseline.frames);
      assert.ok(key !== undefined);
      const leading = rest
        .slice(0, 2)
        .map((frame, index): VideoFrame => ({ ...frame, time: -0.2 + index / 10 }));
      const { facts } = await written([key, ...leading, ...rest]);
      assert.equal(facts.frames, 40);
    });

    it('leaves out pictures of a size that no MP4 can tell', async () => {
      const huge = pictures(baseline.frames).map((frame) => ({
        ...frame,
        format: { ...frame.format, width: 70_000 },
      }));
      const { facts } = await written([...huge, ...baseline.frames]);
      assert.equal(facts.frames, 40);
    });

    it('leaves out sound before it', async () => {
      const { clip } = await written(
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
      const { clip } = await written(late);
      assert.equal(complaints(clip), '');
      const [, audio] = probed(clip).streams;
      assert.ok(Math.abs(Number(audio?.start_time) - 0.93) < 0.05, audio?.start_time);
    });

    it('does not wait for sound for ever', async () => {
      const { facts, clip, hasSound } = await written(
        withSound.frames.filter(({ kind, time }) => kind === 'video' || time > 3),
      );
      assert.deepEqual([facts.codecs, hasSound], ['avc1.4D400C', false]);
      assert.equal(probed(clip).streams.length, 1);
    });
  });

  describe('and its end', () => {
    slowIt('comes where pictures of another size do', async () => {
      const larger = encodedKind('H.264 without B-frames, larger');
      const { facts, clip, ended } = await written([...baseline.frames, ...larger.frames]);
      assert.equal(ended, 'format changed');
      assert.equal(facts.frames, 40);
      assert.equal(complaints(clip), '');
    });

    slowIt(
      'does not come where other parameter sets do, again and again, of the same size and profile',
      async () => {
        const [first, second] = [encodedKind('H.264 with B-frames'), encodedVideo({ encoder: OTHER_CODING })];
        assert.notDeepEqual(first.video.description, second.video.description);
        const all = [first, second, first, second].flatMap(({ frames }, turn) =>
          retimed(frames, (time) => time + turn * 4),
        );
        const { facts, clip, ended } = await written(all);
        assert.equal(ended, undefined);
        assert.ok(Math.abs(facts.seconds - 16) < 0.01, `${facts.seconds}`);
        assert.equal(complaints(clip), '');
        assert.deepEqual(
          decoded(clip),
          [first, second, first, second].flatMap((video) => video.decoded),
        );
      },
    );

    it('does not come where nothing but the level changes', async () => {
      const all = baseline.frames.map((frame, index): MediaFrame => {
        if (frame.kind !== 'video' || index < 20) return frame;
        const [description, codecString] = [Buffer.from(frame.format.description), 'avc1.42C028'];
        description[3] = 0x28;
        return { ...frame, format: { ...frame.format, description, codecString } };
      });
      const { facts, ended } = await written(all);
      assert.equal(ended, undefined);
      assert.equal(facts.frames, 40);
    });

    slowIt('comes where another profile does', async () => {
      const main = encodedKind('H.264 with B-frames');
      const { ended } = await written([...baseline.frames, ...retimed(main.frames, (time) => time + 4)]);
      assert.equal(ended, 'format changed');
    });

    it('does not come where the same parameter sets come again', async () => {
      const again = baseline.frames.map((frame): MediaFrame =>
        frame.kind === 'video'
          ? { ...frame, format: { ...frame.format, description: Buffer.from(frame.format.description) } }
          : frame,
      );
      const { facts, ended } = await written([...baseline.frames, ...retimed(again, (time) => time + 4)]);
      assert.equal(ended, undefined);
      assert.equal(facts.frames, 80);
    });

    it('comes where it would be larger than it may be', async () => {
      const { facts, clip, ended } = await written(baseline.frames, new ClipMemory(40_000));
      assert.equal(ended, 'too large');
      assert.ok(facts.bytes < 42_000 && facts.frames > 10, JSON.stringify(facts));
      assert.equal(complaints(clip), '');
    });

    it('may be the first picture', async () => {
      const { facts, clip } = await written(baseline.frames.slice(0, 1));
      assert.equal(facts.frames, 1);
      assert.equal(facts.seconds, 0.04);
      assert.equal(decoded(clip).length, 1);
    });
  });

  it('without a picture is none', async () => {
    const writer = new ClipWriter(new ClipMemory());
    await assert.rejects(
      writer.finish(),
      (error) => error instanceof RvmError && error.code === 'VIDEO_FAILED',
    );
  });

  it('that is given up takes its bytes with it', async () => {
    const memory = new ClipMemory();
    const writer = new ClipWriter(memory);
    for (const frame of baseline.frames) await writer.add(frame);
    await writer.discard();
    assert.throws(() => memory.content);
  });
});
