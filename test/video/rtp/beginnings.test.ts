import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { h264 } from '../../../lib/video/rtp/h264';
import { h264Pps, h264Recovery, h264Slice, h264Sps } from '../../../scripts/fuzz/inputs/h264-units';
import { H265 } from '../../../scripts/fuzz/inputs/h265-units';
import { escaped } from '../../../scripts/fuzz/inputs/bit-writer';
import { CODECS, SentVideo } from '../../support/rtp/codecs';
import { bits, rowOf, STEP, videoOf } from '../../support/rtp/sender';

/** Of ITU-T H.265, table 7-7. */
const [PREDICTED, INTRA] = [1, 2];

function typedSlice(type: number): Buffer {
  const head = bits([H265.trailing, 7], [0, 6], [1, 3], [1, 1]).unsigned(0).unsigned(type);
  return Buffer.concat([escaped(head.trailed()), Buffer.alloc(20, 0x55)]);
}

for (const [encoding, intra, predicted] of [
  ['H264', h264Slice({ type: 'intra' }), h264Slice()],
  ['H265', typedSlice(INTRA), typedSlice(PREDICTED)],
] as const)
  describe(`${encoding} whose intra pictures are no key frames`, () => {
    const { sets, otherSets, key } = CODECS[encoding];
    let video: SentVideo;
    /** Milliseconds of our clock, which stands still unless told otherwise. */
    let now: number;

    beforeEach(() => {
      now = 0;
      video = new SentVideo(encoding, {}, () => now);
    });

    /** What comes of pictures, ten a second: `i` intra, `p` predicted, `K` a key frame, `-` a lost packet. */
    function sent(row: string): VideoFrame[] {
      const units: Record<string, Buffer[]> = { i: [...sets, intra], p: [predicted], K: [...sets, key()] };
      return row.split('').flatMap((letter) => {
        if (letter !== '-') return video.of(units[letter] ?? assert.fail());
        video.sender.picture([predicted]);
        return [];
      });
    }

    const GROUP = 'ippppppppp';

    it('begins with the first of them once nothing better has come for 3 s, and nothing behind it is missing', () => {
      assert.equal(sent(GROUP.repeat(3)).length, 0);
      const frames = sent('ip');
      assert.equal(rowOf(frames), `${'k.........'.repeat(3)}k.`);
      assert.ok(frames.every(({ time }, index) => Math.round(time * 10) === index));
    });

    it('begins so by our clock, too, where that of the camera stands still', () => {
      const rtpTime = video.sender.rtpTime;
      const still = (...units: Buffer[]): string =>
        rowOf(videoOf(video.receiver, video.sender.picture(units, { rtpTime })));
      assert.equal(still(...sets, intra), '');
      now = 2900;
      assert.equal(still(predicted), '');
      now = 3000;
      assert.equal(still(predicted), 'k..');
    });

    const OTHERS = 'pppppppppi';
    const LATER = `k${'.'.repeat(290)}${'.........k'.repeat(3)}`;
    for (const [what, row, expected] of [
      ['begins with one that comes later than that, at once', `${'p'.repeat(50)}ipp`, 'k..'],
      ['begins with a key frame that comes within 3 s', 'ippppKpp', 'k..'],
      [
        'leaves out what came before lost packets, and waits',
        `ipp-pi${'p'.repeat(27)}`,
        `k${'.'.repeat(27)}`,
      ],
      [
        'goes on where none comes for 10 s behind lost packets',
        `Kp-${'p'.repeat(110)}`,
        `k${'.'.repeat(13)}`,
      ],
      ['lets others begin with one where key frames are 30 s apart', `K${OTHERS.repeat(32)}`, LATER],
    ] as const)
      it(what, () => assert.equal(rowOf(sent(row)), expected));

    it('has all of them where it ends within 3 s', () => {
      assert.equal(sent('ippp').length, 0);
      assert.equal(rowOf(video.end()), 'k...');
    });

    it('goes on with the next of them where packets were lost', () => {
      sent(GROUP.repeat(4));
      assert.equal(rowOf(sent('pp-pppp')), '..');
      assert.equal(rowOf(sent(GROUP.repeat(3))), 'k.........'.repeat(3));
    });

    it('takes other parameter sets with one of them', () => {
      sent(GROUP.repeat(4));
      const [frame] = video.of([...otherSets, intra]);
      assert.deepEqual([frame?.key, frame?.format.parameterSets], [true, otherSets]);
    });

    it('waits no longer than its memory is bounded', () => {
      const large = Buffer.concat([predicted, Buffer.alloc(60_000, 0x55)]);
      assert.equal(video.of([...sets, intra]).length, 0);
      const rtpTime = video.sender.rtpTime;
      const packets = Array.from({ length: 100 }, () => video.sender.picture([large], { rtpTime })).flat();
      assert.equal(rowOf(videoOf(video.receiver, packets)), `k${'.'.repeat(100)}`);
    });
  });

describe('H.264 that begins with an intra picture that is no key frame', () => {
  const [SETS, INTRA_SLICE] = [[h264Sps(), h264Pps()], h264Slice({ type: 'intra' })];
  const AFTER = Array.from({ length: 31 }, () => [h264Slice()]);
  let video: SentVideo;
  beforeEach(() => {
    video = new SentVideo('H264');
  });

  it('leaves out what is shown before it', () => {
    const at = video.sender.rtpTime;
    assert.equal(video.of([...SETS, INTRA_SLICE]).length, 0);
    video.sender.rtpTime = at - STEP;
    assert.equal(video.of([h264Slice()]).length, 0);
    assert.equal(rowOf(video.of(...AFTER)), `k${'.'.repeat(31)}`);
  });

  it('does not wait where a hint says that decoding can begin there', () => {
    assert.equal(rowOf(video.of([...SETS, h264Recovery(), INTRA_SLICE])), 'k');
  });

  it('tells decoders that they can begin there, which Chromium wants to be told', () => {
    const [first] = video.of([...SETS, INTRA_SLICE], ...AFTER);
    // A recovery point of 0 pictures (ITU-T H.264, section D.1.8).
    assert.deepEqual(first?.nals, [Buffer.from([6, 6, 1, 0x84, 0x80]), INTRA_SLICE]);
    assert.ok(h264.roleOf(first.nals[0] ?? INTRA_SLICE) === 'recovery');
  });

  it('does not begin with one of which a slice needs other pictures', () => {
    const slices = [INTRA_SLICE, h264Slice({ firstMacroblock: 99 })];
    assert.equal(rowOf(video.of(...Array.from({ length: 40 }, () => [...SETS, ...slices]))), '');
  });
});
