import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { unitsOf } from '../../../lib/video/rtp/nal-unit';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { h264Pps, h264Slice, h264Sps } from '../../../scripts/fuzz/inputs/h264-units';
import { H265, h265Pps, h265Slice, h265Sps, h265Vps } from '../../../scripts/fuzz/inputs/h265-units';
import { aggregationPacket, fragmentationUnits, fuA, stapA } from '../../../scripts/fuzz/inputs/rtp';
import { medium, RtpSender, videoOf } from '../../support/rtp/sender';

const [SHORT, LONG] = [Buffer.from([0, 0, 1]), Buffer.from([0, 0, 0, 1])];

const CODECS = {
  H264: {
    sets: [h264Sps(), h264Pps()],
    information: Buffer.from([0x06, 0x05, 0x02, 0x41, 0x42, 0x80]),
    slices: [h264Slice({ type: 'idr', length: 300 }), h264Slice({ type: 'idr', firstMacroblock: 40 })],
    aggregate: stapA,
    pieces: fuA,
    described: (sets: string[]) => ({ 'sprop-parameter-sets': sets.join(',') }),
  },
  H265: {
    sets: [h265Vps(), h265Sps(), h265Pps()],
    information: Buffer.from([39 << 1, 1, 5, 2, 0x41, 0x42, 0x80]),
    slices: [
      h265Slice({ type: H265.idr, length: 300 }),
      h265Slice({ type: H265.idr, isFirst: false, length: 40 }),
    ],
    aggregate: aggregationPacket,
    pieces: fragmentationUnits,
    described: ([vps = '', sps = '', pps = '']: string[]) => ({
      'sprop-vps': vps,
      'sprop-sps': sps,
      'sprop-pps': pps,
    }),
  },
};

describe('A byte stream that is made to have a million units', () => {
  it('is read as far as a picture can go', () => {
    const units = unitsOf(Buffer.alloc(6_000_000, '\0\0\x01abc', 'latin1'));
    assert.ok(units.length > 1024 && units.length <= 2048, `${units.length}`);
  });
});

for (const [encoding, codec] of Object.entries(CODECS))
  describe(`${encoding} in RTP as a byte stream with start codes`, () => {
    const { sets, information, slices, aggregate, pieces } = codec;
    const [firstSet = SHORT, ...otherSets] = sets;

    function framesOf(payloads: readonly Buffer[], parameters = {}): VideoFrame[] {
      return videoOf(new TrackReceiver(medium({ encoding }, parameters)), new RtpSender().picture(payloads));
    }

    function assertWhole([frame, ...more]: readonly VideoFrame[]): void {
      assert.equal(more.length, 0);
      assert.equal(frame?.key, true);
      assert.deepEqual(frame.nals, slices);
      assert.deepEqual(frame.format.parameterSets, sets);
    }

    for (const [length, start] of [
      ['three', SHORT],
      ['four', LONG],
    ] as const) {
      const joined = (units: readonly Buffer[]): Buffer =>
        Buffer.concat(units.flatMap((unit, index) => (index === 0 ? [unit] : [start, unit])));
      const led = (unit: Buffer): Buffer => Buffer.concat([start, unit]);

      const WAYS: Record<string, Buffer[]> = {
        'sets, information and slices in one packet': [joined([...sets, information, ...slices])],
        'sets in one packet, each slice in its own': [joined(sets), ...slices],
        'all in pieces of what seems to be the first set': pieces(joined([...sets, ...slices]), 90),
        'information and slices in pieces of what seems to be information': [
          ...sets,
          ...pieces(joined([information, ...slices]), 90),
        ],
        'a start code before each unit': [...sets, ...slices].map(led),
        'a start code before each unit, in pieces': [...sets, ...slices].flatMap((unit) =>
          pieces(led(unit), 90),
        ),
        'a start code behind the head of pieces': [
          ...sets,
          ...slices.flatMap((unit) =>
            pieces(Buffer.concat([unit.subarray(0, encoding === 'H264' ? 1 : 2), led(unit)]), 90),
          ),
        ],
        'a start code before each unit of an aggregate': [
          aggregate(sets.map(led)),
          aggregate(slices.map(led)),
        ],
        'several units in one of an aggregate': [
          aggregate([joined([firstSet, ...otherSets]), joined(slices)]),
        ],
        'a start code behind each unit': [...sets, ...slices].map((unit) => Buffer.concat([unit, start])),
        'start codes without a unit': [Buffer.concat([start, start, joined(sets), start, start]), ...slices],
      };
      for (const [what, payloads] of Object.entries(WAYS))
        it(`is read: ${what}, of ${length} bytes`, () => assertWhole(framesOf(payloads)));

      it(`is read in the description, of ${length} bytes`, () => {
        const texts = sets.map((set) => led(set).toString('base64'));
        assertWhole(framesOf(slices, codec.described(texts)));
      });
    }

    for (const zeros of [1, 2, 3, 4, 7])
      it(`is read with ${zeros} zeros behind the last unit of an aggregate`, () => {
        const behind = (payload: Buffer): Buffer => Buffer.concat([payload, Buffer.alloc(zeros)]);
        assertWhole(framesOf([behind(aggregate(sets)), behind(aggregate(slices))]));
      });

    it('is read with zeros behind units, which are of none', () => {
      assertWhole(framesOf([...sets, ...slices].map((unit) => Buffer.concat([unit, Buffer.alloc(5)]))));
    });

    it('is not split where two zeros and a 3 stand within a unit', () => {
      const [first = SHORT] = slices;
      const escaped = Buffer.concat([first, Buffer.from([0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 2, 0x80])]);
      assert.deepEqual(framesOf([...sets, escaped])[0]?.nals, [escaped]);
    });
  });
