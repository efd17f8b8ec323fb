import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FragmentWriter } from '../../../lib/video/mp4/fragment-writer';
import { byLane, slowIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import {
  encodedKind,
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
  writtenFragments,
} from '../../support/video/played-clip';

const fragmentsOf = (...video: Parameters<typeof writtenFragments>): Buffer[] =>
  writtenFragments(...video).pieces;

/** When the one sample of a fragment is decoded, and the next one may be (ISO/IEC 14496-12, sections 8.8.8 and 8.8.12). */
function spanOf(fragment: Buffer): { start: number; end: number } {
  const start = Number(fragment.readBigUInt64BE(fragment.indexOf('tfdt') + 8));
  return { start, end: start + fragment.readUInt32BE(fragment.indexOf('trun') + 16) };
}

describe('A fragmented MP4', () => {
  let baseline: EncodedVideo;
  let withSound: EncodedVideo;

  before(function () {
    needs(this, 'ffmpeg', 'ffprobe');
    baseline = encodedKind('H.264 without B-frames');
    withSound = encodedKind('H.264 with B-frames and AAC');
  });

  const OTHERS = ['H.264 without B-frames', 'H.264 with B-frames', 'H.265'] as const;
  for (const kind of byLane<EncodedKind>(['H.264 with B-frames and AAC'], OTHERS)) {
    it(`of ${kind} shows what the camera sent, picture by picture`, () => {
      const video = encodedKind(kind);
      const mp4 = writtenFragments(video.frames, video.audio).mp4;
      assert.equal(complaints(mp4), '');
      assert.deepEqual(decoded(mp4), video.decoded);
      assert.deepEqual(shownTimes(mp4), shownPictures(video.frames));
    });

    it(`of ${kind} has times of decoding that grow and do not lie behind those of showing`, () => {
      const video = encodedKind(kind);
      const { packets } = probed(writtenFragments(video.frames, video.audio).mp4);
      const ours = packets.filter(({ codec_type }) => codec_type === 'video');
      for (const [index, { dts_time, pts_time }] of ours.entries()) {
        assert.ok(Number(dts_time) <= Number(pts_time), `${index}: ${dts_time} ${pts_time}`);
        assert.ok(index === 0 || Number(dts_time) > Number(ours[index - 1]?.dts_time), dts_time);
      }
    });
  }

  it('begins with an initialisation, and has a fragment for each picture', () => {
    const pieces = fragmentsOf(baseline.frames);
    assert.deepEqual(pieces.map(topBoxes), [
      ['ftyp', 'moov'],
      ...baseline.frames.map(() => ['moof', 'mdat']),
    ]);
  });

  it('gives a picture once the next is there', () => {
    const writer = new FragmentWriter();
    const given = baseline.frames.map((frame) => writer.add(frame).length);
    // The first three tell in which order pictures are shown.
    assert.deepEqual(given, [0, 0, 3, ...baseline.frames.slice(3).map(() => 1)]);
    assert.equal(writer.end().length, 1);
  });

  it('tells its length, at most, where that is known, without which browsers stutter', () => {
    for (const [seconds, ticks] of [[20, 1_800_000] as const, [undefined, undefined] as const]) {
      const { mp4 } = writtenFragments(withSound.frames, withSound.audio, seconds);
      const at = mp4.indexOf('mehd');
      assert.equal(at < 0 ? undefined : mp4.readUInt32BE(at + 8), ticks);
      assert.equal(complaints(mp4), '');
    }
  });

  it('plays from each key frame on, without what was before', () => {
    const [start = assert.fail(), ...fragments] = fragmentsOf(withSound.frames, withSound.audio);
    const mp4 = Buffer.concat([start, ...fragments.slice(20)]);
    assert.equal(complaints(mp4), '');
    assert.deepEqual(decoded(mp4), withSound.decoded.slice(20));
  });

  it('names its codecs', () => {
    const { type } = writtenFragments(withSound.frames, withSound.audio);
    assert.equal(type, 'video/mp4; codecs="avc1.4D400C, mp4a.40.2"');
  });

  it('leaves out pictures of a size that it cannot tell', () => {
    assert.deepEqual(fragmentsOf(withFormat(baseline.frames, () => ({ height: 70_000 }))), []);
  });

  it('keeps sound beside its pictures', () => {
    const { streams } = probed(writtenFragments(withSound.frames, withSound.audio).mp4);
    const [video, audio] = streams;
    assert.ok(Math.abs(Number(video?.start_time) - Number(audio?.start_time)) < 0.001);
    assert.equal(audio?.nb_read_packets, String(soundsFrom(withSound.frames, 0).length));
  });

  it('leaves out sound that was not announced', () => {
    const { streams } = probed(writtenFragments(withSound.frames).mp4);
    assert.equal(streams.map(({ codec_type }) => codec_type).join(), 'video');
  });

  it('does without sound that was announced and never comes', () => {
    const writer = new FragmentWriter(withSound.audio);
    const mp4 = Buffer.concat(pictures(withSound.frames).flatMap((frame) => writer.add(frame)));
    assert.equal(writer.mimeType, 'video/mp4; codecs="avc1.4D400C"');
    assert.equal(probed(mp4).streams.length, 1);
  });

  slowIt('has another initialisation where the format changes', () => {
    const larger = encodedKind('H.264 without B-frames, larger');
    const pieces = fragmentsOf([...baseline.frames, ...retimed(larger.frames, (time) => time + 4)]);
    const starts = pieces.flatMap((piece, index) => (topBoxes(piece)[1] === 'moov' ? [index] : []));
    assert.deepEqual(starts, [0, 41]);
    const second = Buffer.concat(pieces.slice(41));
    assert.deepEqual(decoded(Buffer.concat(pieces.slice(0, 41))), baseline.decoded);
    assert.deepEqual(decoded(second), larger.decoded);
    assert.equal(probed(second).packets[0]?.pts_time, '4.000000');
  });

  it('keeps the times of a stream whose rate varies, without a gap', () => {
    const uneven = retimed(baseline.frames, (time) => time + (time > 1 ? 0.35 : 0) + (time > 2 ? 1.2 : 0));
    const { mp4, pieces } = writtenFragments(uneven);
    assert.deepEqual(shownTimes(mp4), shownPictures(uneven));
    const spans = pieces.slice(1).map(spanOf);
    for (const [index, { end }] of spans.slice(0, -1).entries()) assert.equal(spans[index + 1]?.start, end);
  });

  slowIt('goes on where pictures begin to be shown in another order later on', () => {
    const late = [...baseline.frames, ...retimed(encodedKind('H.264 with B-frames').frames, (t) => t + 4)];
    const pieces = fragmentsOf(late);
    assert.equal(pieces.length, 82);
    const second = Buffer.concat(pieces.slice(41));
    assert.deepEqual(decoded(second), encodedKind('H.264 with B-frames').decoded);
  });

  it('falls into step where pictures are held back as a surprise', () => {
    const shown = [0, 1, 4, 2, 3, 7, 5, 6, 10, 8, 9];
    const frames = pictures(baseline.frames.slice(0, shown.length));
    const held = frames.map((frame, place) => ({ ...frame, time: (shown[place] ?? 0) / 10 }));
    const starts = fragmentsOf(held).map((piece) => piece.includes('tfdt') && spanOf(piece).start);
    const [began, madeUp, inStep] = [
      [0, 9000, 36_000],
      [36_001, 36_002, 36_003, 36_004],
      [5, 6, 7, 8],
    ];
    assert.deepEqual(starts.slice(1), [...began, ...madeUp, ...inStep.map((tenths) => tenths * 9000)]);
  });

  it('takes whatever times a stranger sends, and gives a fragment for each picture, which is decoded behind the one before', () => {
    fc.assert(
      fc.property(framesOfAStranger(baseline, withSound, 100), (frames) => {
        const pieces = fragmentsOf(frames, withSound.audio);
        assert.ok(pieces.length <= frames.length + 1);
        const starts = pieces.filter((piece) => piece.includes('tfdt')).map((piece) => spanOf(piece).start);
        for (const [index, start] of starts.entries())
          assert.ok(index === 0 || start > (starts[index - 1] ?? 0), starts.join());
      }),
      { numRuns: 1000, seed: 15 },
    );
  });
});
