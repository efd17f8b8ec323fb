import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { h264 } from '../../../lib/video/rtp/h264';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { h264Pps, h264Recovery, h264Slice, h264Sps } from '../../../scripts/fuzz/inputs/h264-units';
import { H265, h265Pps, h265Slice, h265Sps, h265Vps } from '../../../scripts/fuzz/inputs/h265-units';
import { FuzzBitWriter, escaped } from '../../../scripts/fuzz/inputs/bit-writer';
import { isVideo } from '../../support/rtp/foreign-streams';
import { medium, rowOf, RtpSender, STEP, videoOf } from '../../support/rtp/sender';

/** Of ITU-T H.265, table 7-7. */
const [PREDICTED, INTRA] = [1, 2];

function typedSlice(type: number): Buffer {
  const head = new FuzzBitWriter().bits(H265.trailing, 7).bits(0, 6).bits(1, 3).bits(1, 1);
  return Buffer.concat([escaped(head.unsigned(0).unsigned(type).trailed()), Buffer.alloc(20, 0x55)]);
}

const CODECS = {
  H264: {
    sets: [h264Sps(), h264Pps()],
    intra: h264Slice({ type: 'intra' }),
    predicted: h264Slice(),
    key: [h264Slice({ type: 'idr' })],
    otherSets: [h264Sps({ across: 40 }), h264Pps()],
  },
  H265: {
    sets: [h265Vps(), h265Sps(), h265Pps()],
    intra: typedSlice(INTRA),
    predicted: typedSlice(PREDICTED),
    key: [h265Slice({ type: H265.idr })],
    otherSets: [h265Vps(), h265Sps({ width: 320 }), h265Pps()],
  },
};

for (const [encoding, { sets, intra, predicted, key, otherSets }] of Object.entries(CODECS))
  describe(`${encoding} whose intra pictures are no key frames`, () => {
    let sender: RtpSender;
    let receiver: TrackReceiver;
    /** Milliseconds of our clock, which stands still unless told otherwise. */
    let now: number;

    beforeEach(() => {
      now = 0;
      sender = new RtpSender();
      receiver = new TrackReceiver(medium({ encoding }), {}, () => now);
    });

    /** What comes of pictures, ten a second: `i` intra, `p` predicted, `K` a key frame, `-` a lost packet. */
    function sent(row: string): VideoFrame[] {
      return row.split('').flatMap((letter) => {
        const slices = { i: [intra], p: [predicted], K: key, '-': [predicted] }[letter] ?? assert.fail();
        const packets = sender.picture(letter === 'i' || letter === 'K' ? [...sets, ...slices] : slices);
        return videoOf(receiver, letter === '-' ? [] : packets);
      });
    }

    const GROUP = 'ippppppppp';

    it('begins with the first of them once nothing better has come for 3 s, and nothing behind it is missing', () => {
      const before = sent(GROUP.repeat(3));
      assert.equal(before.length, 0);
      const frames = sent('ip');
      assert.equal(rowOf(frames), `${'k.........'.repeat(3)}k.`);
      assert.ok(frames.every(({ time }, index) => Math.round(time * 10) === index));
    });

    it('begins so by our clock, too, where that of the camera stands still', () => {
      const still = (slices: readonly Buffer[]): VideoFrame[] =>
        videoOf(
          receiver,
          [...slices].map((slice, index) => sender.packet(slice, { marker: index === slices.length - 1 })),
        );
      assert.equal(still([...sets, intra]).length, 0);
      now = 2900;
      assert.equal(still([predicted]).length, 0);
      now = 3000;
      assert.equal(rowOf(still([predicted])), 'k..');
    });

    it('begins with one that comes later than that, at once', () => {
      assert.equal(rowOf(sent(`${'p'.repeat(50)}ipp`)), 'k..');
    });

    it('begins with a key frame that comes within 3 s', () => {
      assert.equal(rowOf(sent('ippppKpp')), 'k..');
    });

    it('has all of them where it ends within 3 s', () => {
      assert.equal(sent('ippp').length, 0);
      assert.equal(rowOf(receiver.flush().filter(isVideo)), 'k...');
    });

    it('goes on with the next of them where packets were lost', () => {
      sent(GROUP.repeat(4));
      assert.equal(rowOf(sent('pp-pppp')), '..');
      assert.equal(rowOf(sent(GROUP.repeat(3))), 'k.........'.repeat(3));
    });

    it('keeps waiting with what came before lost packets left out', () => {
      assert.equal(rowOf(sent(`ipp-pippppppp${'p'.repeat(20)}`)), `k${'.'.repeat(27)}`);
    });

    it('takes other parameter sets with one of them', () => {
      sent(GROUP.repeat(4));
      const [frame] = videoOf(receiver, sender.picture([...otherSets, intra]));
      assert.equal(frame?.key, true);
      assert.deepEqual(frame.format.parameterSets, otherSets);
    });

    it('lets those who come later begin with one of them, where key frames are more than 30 s apart', () => {
      const frames = sent(`K${'pppppppppi'.repeat(32)}`);
      assert.equal(rowOf(frames), `k${'..........'.repeat(29)}${'.........k'.repeat(3)}`);
    });

    it('waits no longer than its memory is bounded', () => {
      const large = Buffer.concat([predicted, Buffer.alloc(60_000, 0x55)]);
      assert.equal(videoOf(receiver, sender.picture([...sets, intra])).length, 0);
      const packets = Array.from({ length: 100 }, () => sender.packet(large, { marker: true }));
      assert.equal(rowOf(videoOf(receiver, packets)), `k${'.'.repeat(100)}`);
    });

    it('goes on without a beginning where none comes for 10 s behind lost packets', () => {
      assert.equal(rowOf(sent(`Kp-${'p'.repeat(110)}`)), `k.${'.'.repeat(12)}`);
    });
  });

describe('H.264 that begins with an intra picture that is no key frame', () => {
  it('leaves out what is shown before it', () => {
    const sender = new RtpSender();
    const receiver = new TrackReceiver(medium());
    const at = sender.rtpTime;
    const first = sender.picture([h264Sps(), h264Pps(), h264Slice({ type: 'intra' })]);
    sender.rtpTime = at - STEP;
    const leading = sender.delta();
    sender.rtpTime = at + STEP;
    const after = Array.from({ length: 31 }, () => sender.delta()).flat();
    assert.equal(rowOf(videoOf(receiver, [...first, ...leading, ...after])), `k${'.'.repeat(31)}`);
  });

  it('does not wait where a hint says that decoding can begin there', () => {
    const units = [h264Sps(), h264Pps(), h264Recovery(), h264Slice({ type: 'intra' })];
    assert.equal(rowOf(videoOf(new TrackReceiver(medium()), new RtpSender().picture(units))), 'k');
  });

  it('tells decoders that they can begin there, which Chromium wants to be told', () => {
    const sender = new RtpSender();
    const intra = h264Slice({ type: 'intra' });
    const packets = [h264Sps(), h264Pps(), intra].flatMap((unit) => sender.packet(unit));
    sender.rtpTime += STEP;
    const after = Array.from({ length: 31 }, () => sender.delta()).flat();
    const [first] = videoOf(new TrackReceiver(medium()), [...packets, ...after]);
    // A recovery point of 0 pictures (ITU-T H.264, section D.1.8).
    assert.deepEqual(first?.nals, [Buffer.from([6, 6, 1, 0x84, 0x80]), intra]);
    assert.ok(h264.roleOf(first.nals[0] ?? intra) === 'recovery');
  });

  it('does not begin with one of which a slice needs other pictures', () => {
    const sender = new RtpSender();
    const slices = [h264Slice({ type: 'intra' }), h264Slice({ firstMacroblock: 99 })];
    const packets = Array.from({ length: 40 }, () =>
      sender.picture([h264Sps(), h264Pps(), ...slices]),
    ).flat();
    assert.equal(rowOf(videoOf(new TrackReceiver(medium()), packets)), '');
  });
});
