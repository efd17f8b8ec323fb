import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { unitsOf } from '../../../lib/video/rtp/nal-unit';
import { CODECS, SentVideo } from '../../support/rtp/codecs';

const [SHORT, LONG] = [Buffer.from([0, 0, 1]), Buffer.from([0, 0, 0, 1])];

describe('A byte stream that is made to have a million units', () => {
  it('is read as far as a picture can go', () => {
    const units = unitsOf(Buffer.alloc(6_000_000, '\0\0\x01abc', 'latin1'));
    assert.ok(units.length > 1024 && units.length <= 2048, `${units.length}`);
  });
});

for (const [encoding, codec] of Object.entries(CODECS))
  describe(`${encoding} in RTP as a byte stream with start codes`, () => {
    const { sets, information, aggregate, pieces } = codec;
    const slices = [codec.key(300), codec.restOfKey];
    const all = [...sets, ...slices];
    const piecesOf = (unit: Buffer): Buffer[] => pieces(unit, 90);

    function framesOf(payloads: Buffer[], parameters = {}): VideoFrame[] {
      return new SentVideo(encoding, parameters).of(payloads);
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
      const ledBehindHead = (unit: Buffer): Buffer =>
        Buffer.concat([unit.subarray(0, codec.headBytes), led(unit)]);

      for (const [what, payloads] of Object.entries<Buffer[]>({
        'sets, information and slices in one packet': [joined([...sets, information, ...slices])],
        'sets in one packet, each slice in its own': [joined(sets), ...slices],
        'all in pieces of what seems to be the first set': piecesOf(joined(all)),
        'information and slices in pieces of the first': [
          ...sets,
          ...piecesOf(joined([information, ...slices])),
        ],
        'a start code before each unit': all.map(led),
        'a start code before each unit, in pieces': all.map(led).flatMap(piecesOf),
        'a start code behind the head of pieces': [...sets, ...slices.map(ledBehindHead).flatMap(piecesOf)],
        'a start code before each unit of an aggregate': [sets.map(led), slices.map(led)].map(aggregate),
        'several units in one of an aggregate': [aggregate([joined(sets), joined(slices)])],
        'a start code behind each unit': all.map((unit) => Buffer.concat([unit, start])),
        'start codes without a unit': [Buffer.concat([start, start, joined(sets), start, start]), ...slices],
      }))
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
      assertWhole(framesOf(all.map((unit) => Buffer.concat([unit, Buffer.alloc(5)]))));
    });

    it('is not split where two zeros and a 3 stand within a unit', () => {
      const escaped = Buffer.concat([codec.key(), Buffer.from([0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 2, 0x80])]);
      assert.deepEqual(framesOf([...sets, escaped])[0]?.nals, [escaped]);
    });
  });
