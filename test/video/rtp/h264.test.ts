import assert from 'node:assert/strict';
import { h264Pps, h264Recovery, h264Slice, h264Sps } from '../../../scripts/fuzz/inputs/h264-units';
import { fuA, stapA } from '../../../scripts/fuzz/inputs/rtp';
import { SentVideo } from '../../support/rtp/codecs';
import { bits, nalsOf, rowOf, RtpSender, STEP, videoOf } from '../../support/rtp/sender';

const [SPS, PPS] = [h264Sps(), h264Pps()];
const IDR = h264Slice({ type: 'idr', length: 300 });
const FAR = 99;
const MORE = h264Slice({ type: 'idr', firstMacroblock: FAR });
const INTRA = h264Slice({ type: 'intra' });
const DELTA = [h264Slice()];
const KEY = [SPS, PPS, IDR];
const HINTED = [h264Recovery(), INTRA];

describe('H.264 in RTP, other than H.265', () => {
  let video: SentVideo;
  beforeEach(() => {
    video = new SentVideo('H264');
  });

  function begin(): void {
    assert.equal(rowOf(video.of(KEY)), 'k');
  }

  it('puts units together of pieces of which none is told to be the last', () => {
    const endless = (unit: Buffer): Buffer[] =>
      fuA(unit, 40).map((piece) => Buffer.from(piece.map((byte, at) => (at === 1 ? byte & 0xbf : byte))));
    const other = h264Slice({ length: 90 });
    const frames = video.of([SPS, PPS, ...endless(IDR), ...endless(MORE)], endless(other));
    assert.deepEqual(nalsOf(frames), [[IDR, MORE], [other]]);
  });

  it('puts a unit together of one piece that is both the first and the last', () => {
    const whole = Buffer.concat([Buffer.from([0x7c, 0xc5]), IDR.subarray(1)]);
    assert.deepEqual(video.of([SPS, PPS, whole])[0]?.nals, [IDR]);
  });

  describe('ends a picture with a slice that begins the next, though both have one time stamp and one mark', () => {
    const second = h264Slice({ type: 'idr', fill: 0x66 });
    const [next, delimiter] = [[second, MORE], Buffer.from([9, 0xf0])];
    const interlaced = h264Sps({ isInterlaced: true });
    const field = (isBottom: number): Buffer => {
      const head = bits([0x65, 8]).unsigned(0).unsigned(7).unsigned(0).bits(0, 4);
      return Buffer.concat([head.bits(1, 1).bits(isBottom, 1).trailed(), Buffer.alloc(9, 0x55)]);
    };
    const frame = [field(0), field(1)];
    for (const [what, payloads, pictures] of [
      ['be it the same again, with its parameter sets', [...KEY, ...KEY], [[IDR], [IDR]]],
      [
        'be it of several slices, with a delimiter between',
        [...KEY, MORE, delimiter, ...next],
        [[IDR, MORE], next],
      ],
      ['in one aggregate', [SPS, PPS, stapA([IDR, second])], [[IDR], [second]]],
      [
        'with other parameter sets, which are not those of the picture before',
        [...KEY, ...DELTA, h264Sps({ across: 40 }), PPS, second],
        [[IDR], DELTA, [second]],
      ],
      ['but not where sets stand between two slices of it', [...KEY, PPS, MORE], [[IDR, MORE]]],
      ['but not where it is the second field', [interlaced, PPS, ...frame, ...frame], [frame, frame]],
      [
        'with the hint that decoding can begin at the next',
        [...KEY, ...DELTA, ...HINTED],
        [[IDR], DELTA, HINTED],
      ],
    ] as const)
      it(what, () => assert.deepEqual(nalsOf(video.of([...payloads])), pictures));

    it('and where the clock stands still, and nothing is marked', () => {
      const packets = [KEY, DELTA, DELTA, DELTA].flatMap((units) =>
        video.sender.picture(units, { marker: false, rtpTime: 7 }),
      );
      assert.equal(rowOf(videoOf(video.receiver, packets)), 'k..');
    });
  });

  it('ends no picture with the mark of a hint that decoding can begin there', () => {
    const packets = video.sender.picture([SPS, PPS, ...HINTED], { marker: true });
    assert.deepEqual(nalsOf(videoOf(video.receiver, packets)), [HINTED]);
  });

  it('times pictures as they are shown, also where that is before the last one', () => {
    begin();
    const shown = [3, 1, 2].map((index) => {
      video.sender.rtpTime = 5000 + index * STEP;
      return video.of(DELTA)[0]?.time;
    });
    assert.deepEqual(shown, [0.3, 0.1, 0.2]);
  });

  const rest = h264Slice({ firstMacroblock: FAR });
  for (const [what, units, row] of [
    ['with an intra picture that is a recovery point', HINTED, 'k'],
    ['not where a slice of that needs other pictures', [...HINTED, rest], ''],
    ['not where pictures are exact some pictures later', [h264Recovery(5), INTRA], ''],
  ] as const)
    it(`begins ${what}`, () => assert.equal(rowOf(video.of([SPS, PPS, ...units])), row));

  it('begins at a recovery point without the pictures that are shown before it', () => {
    const at = video.sender.rtpTime;
    const key = video.of([SPS, PPS, ...HINTED]);
    video.sender.rtpTime = at - STEP;
    const leading = video.of(DELTA);
    video.sender.rtpTime = at + STEP;
    assert.equal(rowOf([...key, ...leading, ...video.of(DELTA)]), 'k.');
  });

  it('waits for the next key frame with another source', () => {
    begin();
    const other = new RtpSender(9000, 4_000_000, 77);
    const frames = videoOf(video.receiver, [...other.delta(), ...other.key(), ...other.delta()]);
    assert.equal(rowOf(frames), 'k.');
    assert.ok(frames.every(({ time }) => time > 0));
  });

  it('passes over packets of another payload type, and those without a payload', () => {
    begin();
    const { sender, receiver } = video;
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
