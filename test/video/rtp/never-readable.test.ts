import assert from 'node:assert/strict';
import { RvmError } from '../../../lib/error';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { h264Slice } from '../../../scripts/fuzz/inputs/h264-units';
import { stapA } from '../../../scripts/fuzz/inputs/rtp';
import { framesOf, medium, RATE, rowOf, RtpSender, videoOf } from '../../support/rtp/sender';

const IDR = h264Slice({ type: 'idr' });
const FAR = 99;

describe('video that can never be read says so', () => {
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

  function assertFault(pattern: RegExp): void {
    assert.ok(receiver.fault instanceof RvmError);
    assert.equal(receiver.fault.code, 'VIDEO_FAILED');
    assert.match(receiver.fault.message, pattern);
    assert.deepEqual(videoOf(receiver, sender.key()), []);
  }

  it('where the description says that packets are interleaved', () => {
    receiver = new TrackReceiver(medium({}, { 'packetization-mode': '2' }));
    assertFault(/out of order/);
  });

  it('where packets are of the interleaved mode: STAP-B, MTAP16, MTAP24, FU-B', () => {
    for (const type of [25, 26, 27, 29]) {
      sender = new RtpSender();
      receiver = new TrackReceiver(medium());
      forTenSeconds(() => [Buffer.from([0x60 | type, 0, 0, 0, 0])]);
      assertFault(/unusual kind/);
    }
  });

  it('where the parameter sets in the stream can never be read', () => {
    forTenSeconds(() => [Buffer.from([0x67, 66]), IDR]);
    assertFault(/cannot be read/);
  });

  it('where key frames come without parameter sets', () => {
    forTenSeconds(() => [IDR]);
    assertFault(/no parameter sets/);
  });

  it('by our clock, where that of the camera stands still', () => {
    let now = 0;
    receiver = new TrackReceiver(medium(), {}, () => now);
    for (; now <= 10_000; now += 5000) framesOf(receiver, [sender.packet(IDR, { marker: true, rtpTime: 7 })]);
    assertFault(/no parameter sets/);
  });

  const TOO_LARGE: [what: string, payloads: Buffer[]][] = [
    [
      'units are larger than 8 MiB, in pieces',
      [...Array(140).keys()].map((at) => piece(at === 0 ? 0x85 : 0x05)),
    ],
    [
      'pictures are larger than 8 MiB, in slices',
      [...Array(140).keys()].map((at) => h264Slice({ length: 60_000, firstMacroblock: at * FAR })),
    ],
    [
      'pictures have thousands of slices',
      [
        h264Slice(),
        stapA(Array.from({ length: 3000 }, () => h264Slice({ firstMacroblock: FAR, length: 0 }))),
      ],
    ],
  ];
  for (const [what, payloads] of TOO_LARGE) {
    it(`where ${what}`, () => {
      begin();
      // Three of them: the times are those of a camera that sends few.
      for (let count = 0; count < 3; count += 1) {
        assert.equal(receiver.fault, undefined);
        framesOf(receiver, sender.picture(payloads));
        sender.rtpTime += 6 * RATE;
      }
      assertFault(/larger than 8 MiB, or in more than 1024 parts/);
    });

    it(`but not where that is one among others: ${what}`, () => {
      begin();
      framesOf(receiver, sender.picture(payloads));
      sender.rtpTime += 60 * RATE;
      assert.equal(rowOf(videoOf(receiver, [sender.key(), sender.delta()].flat())), 'k.');
      assert.equal(receiver.fault, undefined);
    });
  }

  for (const [what, payload] of [
    ['packet of an unusual kind', Buffer.from([0x79, 0, 0, 0, 0])],
    ['parameter set that cannot be read', Buffer.from([0x67, 66])],
  ] as const)
    it(`but not where a ${what} comes with each picture that can`, () => {
      begin();
      const packets: Buffer[] = [];
      for (let count = 0; count < 300; count += 1) packets.push(...sender.picture([payload, h264Slice()]));
      assert.equal(videoOf(receiver, packets).length, 300);
      assert.equal(receiver.fault, undefined);
    });

  it('but not where parameter sets come after many key frames', () => {
    for (let count = 0; count < 50; count += 1) framesOf(receiver, sender.picture([IDR]));
    begin();
  });

  /** Pictures of these, ten a second. */
  function forTenSeconds(payloads: () => Buffer[]): void {
    for (let count = 0; count < 110; count += 1) framesOf(receiver, sender.picture(payloads()));
  }
});

/** @param edges and the type of a unit, as FU-A has them */
function piece(edges: number): Buffer {
  return Buffer.concat([Buffer.from([0x7c, edges]), Buffer.alloc(60_000, 0x55)]);
}
