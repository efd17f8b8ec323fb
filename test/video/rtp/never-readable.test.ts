import assert from 'node:assert/strict';
import { RvmError } from '../../../lib/error';
import { h264Slice } from '../../../scripts/fuzz/inputs/h264-units';
import { stapA } from '../../../scripts/fuzz/inputs/rtp';
import { CODECS, SentVideo } from '../../support/rtp/codecs';
import { framesOf, RATE, rowOf } from '../../support/rtp/sender';

const IDR = h264Slice({ type: 'idr' });
const KEY = [...CODECS.H264.sets, IDR];
const FAR = 99;
const BROKEN_SET = Buffer.from([0x67, 66]);

/** @param edges and the type of a unit, as FU-A has them */
function piece(edges: number): Buffer {
  return Buffer.concat([Buffer.from([0x7c, edges]), Buffer.alloc(60_000, 0x55)]);
}

describe('video that can never be read says so', () => {
  let video: SentVideo;
  beforeEach(() => {
    video = new SentVideo('H264');
  });

  /** So that a picture is there to go on from. */
  function begin(): void {
    assert.equal(rowOf(video.of(KEY)), 'k');
  }

  function assertFault(pattern: RegExp): void {
    const { fault } = video.receiver;
    assert.ok(fault instanceof RvmError);
    assert.equal(fault.code, 'VIDEO_FAILED');
    assert.match(fault.message, pattern);
    assert.deepEqual(video.of(KEY), []);
  }

  it('where the description says that packets are interleaved', () => {
    video = new SentVideo('H264', { 'packetization-mode': '2' });
    assertFault(/out of order/);
  });

  const interleaved = (type: number): Buffer => Buffer.from([0x60 | type, 0, 0, 0, 0]);
  for (const [what, payloads, pattern] of [
    ['packets are of the interleaved mode: STAP-B', [interleaved(25)], /unusual kind/],
    ['packets are of the interleaved mode: MTAP16', [interleaved(26)], /unusual kind/],
    ['packets are of the interleaved mode: MTAP24', [interleaved(27)], /unusual kind/],
    ['packets are of the interleaved mode: FU-B', [interleaved(29)], /unusual kind/],
    ['the parameter sets in the stream can never be read', [BROKEN_SET, IDR], /cannot be read/],
    ['key frames come without parameter sets', [IDR], /no parameter sets/],
  ] as const)
    it(`where, for ten seconds, ${what}`, () => {
      video.of(...Array.from({ length: 110 }, () => [...payloads]));
      assertFault(pattern);
    });

  it('by our clock, where that of the camera stands still', () => {
    let now = 0;
    video = new SentVideo('H264', {}, () => now);
    for (; now <= 10_000; now += 5000) framesOf(video.receiver, video.sender.picture([IDR], { rtpTime: 7 }));
    assertFault(/no parameter sets/);
  });

  const many = Array.from({ length: 3000 }, () => h264Slice({ firstMacroblock: FAR, length: 0 }));
  for (const [what, payloads] of [
    [
      'units are larger than 8 MiB, in pieces',
      Array.from({ length: 140 }, (_, at) => piece(at ? 0x05 : 0x85)),
    ],
    [
      'pictures are larger than 8 MiB, in slices',
      Array.from({ length: 140 }, (_, at) => h264Slice({ length: 60_000, firstMacroblock: at * FAR })),
    ],
    ['pictures have thousands of slices', [h264Slice(), stapA(many)]],
  ] as const) {
    it(`where ${what}`, () => {
      begin();
      // Three of them: the times are those of a camera that sends few.
      for (let count = 0; count < 3; count += 1) {
        assert.equal(video.receiver.fault, undefined);
        video.of([...payloads]);
        video.sender.rtpTime += 6 * RATE;
      }
      assertFault(/larger than 8 MiB, or in more than 1024 parts/);
    });

    it(`but not where that is one among others: ${what}`, () => {
      begin();
      video.of([...payloads]);
      video.sender.rtpTime += 60 * RATE;
      assert.equal(rowOf(video.of(KEY, [h264Slice()])), 'k.');
      assert.equal(video.receiver.fault, undefined);
    });
  }

  for (const [what, payload] of [
    ['packet of an unusual kind', Buffer.from([0x79, 0, 0, 0, 0])],
    ['parameter set that cannot be read', BROKEN_SET],
  ] as const)
    it(`but not where a ${what} comes with each picture that can`, () => {
      begin();
      assert.equal(video.of(...Array.from({ length: 300 }, () => [payload, h264Slice()])).length, 300);
      assert.equal(video.receiver.fault, undefined);
    });

  it('but not where parameter sets come after many key frames', () => {
    video.of(...Array.from({ length: 50 }, () => [IDR]));
    begin();
  });
});
