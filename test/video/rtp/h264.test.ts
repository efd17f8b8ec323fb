import assert from 'node:assert/strict';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { FuzzBitWriter } from '../../../scripts/fuzz/inputs/bit-writer';
import { h264Pps, h264Recovery, h264Slice, h264Sps } from '../../../scripts/fuzz/inputs/h264-units';
import { fuA, stapA } from '../../../scripts/fuzz/inputs/rtp';
import { framesOf, medium, rowOf, RtpSender, STEP, videoOf } from '../../support/rtp/sender';

const [SPS, PPS] = [h264Sps(), h264Pps()];
const IDR = h264Slice({ type: 'idr', length: 300 });
const FAR = 99;

describe('H.264 in RTP', () => {
  let sender: RtpSender;
  let receiver: TrackReceiver;

  beforeEach(() => {
    sender = new RtpSender();
    receiver = new TrackReceiver(medium());
  });

  /** So that a picture is there to go on from. */
  function begin(): void {
    assert.equal(rowOf(videoOf(receiver, sender.key())), 'k');
  }

  describe('puts NAL units together', () => {
    it('of packets with one each', () => {
      const slices = [IDR, h264Slice({ type: 'idr', firstMacroblock: 40 })];
      const [frame] = videoOf(receiver, sender.picture([SPS, PPS, ...slices]));
      assert.deepEqual(frame?.nals, slices);
    });

    it('of packets with several (STAP-A)', () => {
      const slices = [IDR, h264Slice({ type: 'idr', firstMacroblock: 40 })];
      const [frame] = videoOf(receiver, sender.picture([stapA([SPS, PPS]), stapA(slices)]));
      assert.deepEqual(frame?.nals, slices);
    });

    it('of pieces (FU-A)', () => {
      for (const size of [1, 7, 150, 298]) {
        const [frame] = videoOf(receiver, sender.picture([SPS, PPS, ...fuA(IDR, size)]));
        assert.deepEqual(frame?.nals, [IDR], `pieces of ${size}`);
      }
    });

    it('of pieces of which none is told to be the last', () => {
      const endless = (unit: Buffer): Buffer[] =>
        fuA(unit, 40).map((piece) => Buffer.from(piece.map((byte, at) => (at === 1 ? byte & 0xbf : byte))));
      const slices = [IDR, h264Slice({ type: 'idr', firstMacroblock: 40 })];
      const packets = [
        sender.picture([SPS, PPS, ...slices.flatMap(endless)]),
        sender.picture(endless(h264Slice({ length: 90 }))),
      ].flat();
      assert.deepEqual(
        videoOf(receiver, packets).map(({ nals }) => nals),
        [slices, [h264Slice({ length: 90 })]],
      );
    });

    it('of one piece that is both the first and the last', () => {
      const [first = 0] = IDR;
      const whole = Buffer.concat([Buffer.from([(first & 0xe0) | 28, 0xc5]), IDR.subarray(1)]);
      const [frame] = videoOf(receiver, sender.picture([SPS, PPS, whole]));
      assert.deepEqual(frame?.nals, [IDR]);
    });

    it('and leaves delimiters, fillers, ends and what is of no use to anybody out', () => {
      const others = [[9, 0xf0], [12, 0xff, 0x80], [10], [11], [14, 1], [20, 1], [6, 5, 1, 0, 0x80]].map(
        (bytes) => Buffer.from(bytes),
      );
      const [frame] = videoOf(
        receiver,
        sender.picture([SPS, PPS, ...others, IDR, Buffer.from([0]), Buffer.from([30])]),
      );
      assert.deepEqual(frame?.nals, [IDR]);
    });

    it('into bytes that have nothing to do with those of the packets', () => {
      const packets = sender.picture([SPS, PPS, IDR]);
      const [frame] = videoOf(receiver, packets);
      for (const packet of packets) packet.fill(0);
      assert.deepEqual([...(frame?.format.parameterSets ?? []), ...(frame?.nals ?? [])], [SPS, PPS, IDR]);
    });
  });

  describe('ends a picture', () => {
    it('with the mark', () => {
      const [sps = IDR, pps = IDR, slice = IDR] = sender.key();
      assert.equal(receiver.rtp(sps).length + receiver.rtp(pps).length, 0);
      assert.equal(receiver.rtp(slice).length, 1);
    });

    it('with another time stamp, where nothing is ever marked', () => {
      const unmarked = { marker: false };
      const key = sender.picture([SPS, PPS, IDR], unmarked);
      assert.equal(rowOf(videoOf(receiver, key)), '');
      assert.equal(rowOf(videoOf(receiver, sender.picture([h264Slice()], unmarked))), 'k');
      assert.equal(rowOf(videoOf(receiver, sender.picture([h264Slice()], unmarked))), '.');
      assert.equal(receiver.flush().length, 1);
    });

    it('not with a mark at each slice, once that is seen', () => {
      const first = videoOf(receiver, sender.key());
      assert.equal(rowOf(first), 'k');
      const halves = [h264Slice({ type: 'idr' }), h264Slice({ type: 'idr', firstMacroblock: FAR })];
      const marked = { marker: true };
      const frames = [1, 2, 3, 4].flatMap(() => videoOf(receiver, sender.picture(halves, marked)));
      assert.deepEqual(frames.at(-1)?.nals, halves);
    });

    it('not with a mark at each packet, from the first picture on, where it comes in pieces', () => {
      const halves = [0, FAR].map((firstMacroblock) =>
        h264Slice({ type: 'idr', firstMacroblock, length: 90 }),
      );
      const payloads = [SPS, PPS, ...halves.flatMap((half) => fuA(half, 40))];
      const pictures = [1, 2, 3].flatMap(() => sender.picture(payloads, { marker: true }));
      const frames = [...videoOf(receiver, pictures), ...receiver.flush()];
      assert.deepEqual(
        frames.map((frame) => frame.kind === 'video' && frame.nals),
        [halves, halves, halves],
      );
    });

    it('not with the mark of a packet that has parameter sets alone', () => {
      const sets = sender.packet(stapA([SPS, PPS]), { marker: true });
      const frames = videoOf(receiver, [sets, ...sender.picture([IDR])]);
      assert.deepEqual(
        frames.map(({ nals }) => nals),
        [[IDR]],
      );
    });

    describe('with a slice that begins the next, though both have one time stamp', () => {
      /** NAL units of each picture that comes of these, which have one time stamp and one mark, at the last. */
      function picturesOf(...payloads: Buffer[]): Buffer[][] {
        return videoOf(receiver, sender.picture(payloads)).map(({ nals }) => [...nals]);
      }
      const second = h264Slice({ type: 'idr', fill: 0x66 });

      it('be it the same again, with its parameter sets', () => {
        assert.deepEqual(picturesOf(SPS, PPS, IDR, SPS, PPS, IDR), [[IDR], [IDR]]);
      });

      it('be it of several slices, with a delimiter between', () => {
        const more = h264Slice({ type: 'idr', firstMacroblock: FAR });
        const delimiter = Buffer.from([9, 0xf0]);
        assert.deepEqual(picturesOf(SPS, PPS, IDR, more, delimiter, second, more), [
          [IDR, more],
          [second, more],
        ]);
      });

      it('in one aggregate', () => {
        assert.deepEqual(picturesOf(SPS, PPS, stapA([IDR, second])), [[IDR], [second]]);
      });

      it('with other parameter sets, which are not those of the picture before', () => {
        assert.deepEqual(picturesOf(SPS, PPS, IDR, h264Slice(), h264Sps({ across: 40 }), PPS, second), [
          [IDR],
          [h264Slice()],
          [second],
        ]);
      });

      it('and what stands between two slices of a picture is of that one', () => {
        const more = h264Slice({ type: 'idr', firstMacroblock: FAR });
        assert.deepEqual(picturesOf(SPS, PPS, IDR, PPS, more), [[IDR, more]]);
      });

      it('with the hint that decoding can begin at the next', () => {
        begin();
        const intra = h264Slice({ type: 'intra' });
        const frames = videoOf(receiver, sender.picture([h264Slice(), h264Recovery(), intra]));
        assert.equal(rowOf(frames), '.k');
        assert.deepEqual(frames[1]?.nals, [h264Recovery(), intra]);
      });

      it('and where the clock stands still, and nothing is marked', () => {
        const packets = [sender.picture([SPS, PPS, IDR], { marker: false, rtpTime: 7 })];
        for (let count = 0; count < 3; count += 1)
          packets.push(sender.picture([h264Slice()], { marker: false, rtpTime: 7 }));
        assert.equal(rowOf(videoOf(receiver, packets.flat())), 'k..');
      });

      it('but not the second field of a frame', () => {
        const interlaced = h264Sps({ isInterlaced: true });
        const field = (isBottom: boolean): Buffer => {
          const head = new FuzzBitWriter().bits(0x65, 8).unsigned(0).unsigned(7).unsigned(0);
          return Buffer.concat([
            head
              .bits(0, 4)
              .bits(1, 1)
              .bits(isBottom ? 1 : 0, 1)
              .trailed(),
            Buffer.alloc(9, 0x55),
          ]);
        };
        const [top, bottom] = [field(false), field(true)];
        assert.deepEqual(picturesOf(interlaced, PPS, top, bottom, top, bottom), [
          [top, bottom],
          [top, bottom],
        ]);
      });
    });

    it('not with the mark of a hint that decoding can begin there', () => {
      const units = [SPS, PPS, h264Recovery(), h264Slice({ type: 'intra' })];
      const [frame, ...more] = videoOf(receiver, sender.picture(units, { marker: true }));
      assert.deepEqual(frame?.nals, units.slice(2));
      assert.equal(more.length, 0);
    });

    it('at the end of the stream only where it is whole', () => {
      begin();
      framesOf(receiver, [sender.packet(h264Slice())]);
      assert.deepEqual(receiver.flush(), []);
      const [piece = IDR] = fuA(IDR, 40);
      framesOf(receiver, [sender.packet(piece)]);
      assert.deepEqual(receiver.flush(), []);
    });

    it('not at the end of the stream where nothing says whether more would have come', () => {
      framesOf(receiver, sender.picture([SPS, PPS, IDR], { marker: false }));
      assert.deepEqual(receiver.flush(), []);
    });
  });

  it('times pictures as they are shown, also where that is before the last one', () => {
    begin();
    const shown = [3, 1, 2].map((index) => {
      sender.rtpTime = 5000 + index * STEP;
      return videoOf(receiver, sender.delta())[0]?.time;
    });
    assert.deepEqual(shown, [0.3, 0.1, 0.2]);
  });

  describe('begins', () => {
    it('with a key frame', () => {
      assert.equal(
        rowOf(videoOf(receiver, [...sender.delta(), ...sender.delta(), ...sender.key(), ...sender.delta()])),
        'k.',
      );
    });

    it('not amidst a key frame', () => {
      const key = sender.picture([SPS, PPS, IDR, h264Slice({ type: 'idr', firstMacroblock: FAR })]);
      assert.equal(rowOf(videoOf(receiver, [...key.slice(0, 2), ...key.slice(3), ...sender.delta()])), '');
    });

    it('with an intra picture that is a recovery point', () => {
      const intra = h264Slice({ type: 'intra' });
      const [frame] = videoOf(receiver, sender.picture([SPS, PPS, h264Recovery(), intra]));
      assert.equal(frame?.key, true);
      assert.deepEqual(frame.nals, [h264Recovery(), intra]);
    });

    it('not with a recovery point of which a slice needs other pictures', () => {
      const slices = [h264Slice({ type: 'intra' }), h264Slice({ firstMacroblock: FAR })];
      assert.equal(rowOf(videoOf(receiver, sender.picture([SPS, PPS, h264Recovery(), ...slices]))), '');
    });

    it('not where pictures are exact some pictures later', () => {
      const payloads = [SPS, PPS, h264Recovery(5), h264Slice({ type: 'intra' })];
      assert.equal(rowOf(videoOf(receiver, sender.picture(payloads))), '');
    });

    it('at a recovery point without the pictures that are shown before it', () => {
      const at = sender.rtpTime;
      const key = sender.picture([SPS, PPS, h264Recovery(), h264Slice({ type: 'intra' })]);
      sender.rtpTime = at - STEP;
      const leading = sender.delta();
      sender.rtpTime = at + STEP;
      assert.equal(rowOf(videoOf(receiver, [...key, ...leading, ...sender.delta()])), 'k.');
    });
  });

  describe('waits for the next key frame', () => {
    /** Of the pictures, with one packet missing. */
    function rowWithout(packets: readonly Buffer[], missing: number): string {
      const rest = [...packets.slice(0, missing), ...packets.slice(missing + 1)];
      const frames = [...videoOf(receiver, rest), ...receiver.flush()];
      return rowOf(frames.filter((frame) => frame.kind === 'video'));
    }

    it('after a picture was lost', () => {
      begin();
      const packets = [sender.delta(), sender.delta(), sender.key(), sender.delta()].flat();
      assert.equal(rowWithout(packets, 0), 'k.');
      assert.equal(receiver.lost, 1);
    });

    it('after a piece of one was lost, be it the first, the last or between', () => {
      for (const missing of [0, 1, 2]) {
        sender = new RtpSender();
        receiver = new TrackReceiver(medium());
        begin();
        const pieces = fuA(h264Slice({ length: 90 }), 40);
        assert.equal(pieces.length, 3);
        const packets = [sender.picture(pieces), sender.delta(), sender.key(), sender.delta()].flat();
        assert.equal(rowWithout(packets, missing), 'k.', `piece ${missing}`);
      }
    });

    it('after a slice was lost', () => {
      for (const missing of [0, 1]) {
        sender = new RtpSender();
        receiver = new TrackReceiver(medium());
        begin();
        const slices = [h264Slice(), h264Slice({ firstMacroblock: FAR })];
        const packets = [sender.picture(slices), sender.delta(), sender.key()].flat();
        assert.equal(rowWithout(packets, missing), 'k', `slice ${missing}`);
      }
    });

    it('after a length in an aggregate that lies, and a piece without beginning', () => {
      for (const damaged of [
        Buffer.from([0x78, 0xff, 0xff, 0x41]),
        Buffer.from([0x78, 0x00]),
        Buffer.from([0x7c, 0x01, 9]),
      ]) {
        sender = new RtpSender();
        receiver = new TrackReceiver(medium());
        begin();
        const packets = [sender.picture([damaged]), sender.delta(), sender.key(), sender.delta()].flat();
        assert.equal(rowOf(videoOf(receiver, packets)), 'k.');
        assert.equal(receiver.fault, undefined);
      }
    });

    it('after pieces that never end, with the picture or with another unit behind them', () => {
      for (const behind of [[], [h264Slice({ firstMacroblock: FAR })], fuA(h264Slice({ length: 90 }), 40)]) {
        sender = new RtpSender();
        receiver = new TrackReceiver(medium());
        begin();
        // So that it is known that ends are told.
        videoOf(receiver, sender.picture(fuA(h264Slice({ length: 90 }), 40)));
        const [start = IDR] = fuA(h264Slice({ length: 90 }), 40);
        const packets = [
          sender.picture([start, ...behind]),
          sender.delta(),
          sender.key(),
          sender.delta(),
        ].flat();
        assert.equal(rowOf(videoOf(receiver, packets)), 'k.');
      }
    });

    it('after the head of a slice that cannot be read', () => {
      begin();
      const packets = [...sender.picture([Buffer.from([0x41, 0, 0])]), ...sender.delta(), ...sender.key()];
      assert.equal(rowOf(videoOf(receiver, packets)), 'k');
    });

    it('with another source', () => {
      begin();
      const other = new RtpSender(9000, 4_000_000, 77);
      const frames = videoOf(receiver, [...other.delta(), ...other.key(), ...other.delta()]);
      assert.equal(rowOf(frames), 'k.');
      assert.deepEqual(
        frames.map(({ time }) => time).map((time) => time > 0),
        [true, true],
      );
    });
  });

  it('passes over packets of another payload type, and those without a payload', () => {
    begin();
    const packets = [
      sender.packet(h264Slice(), { payloadType: 97 }),
      sender.packet(Buffer.alloc(0)),
      sender.packet(h264Slice(), { payloadType: 97, ssrc: 5 }),
    ];
    sender.sequence -= 1;
    assert.equal(rowOf(videoOf(receiver, [...packets, ...sender.delta()])), '.');
    assert.equal(receiver.lost, 0);
  });
});
