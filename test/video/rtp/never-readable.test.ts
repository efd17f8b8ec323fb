import assert from 'node:assert/strict';
import { RvmError } from '../../../lib/error';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { h264Slice } from '../../../scripts/fuzz/inputs/h264-units';
import { stapA } from '../../../scripts/fuzz/inputs/rtp-bytes';
import { framesOf, medium, rowOf, Sender, videoOf } from '../../support/rtp/sender';

const IDR = h264Slice({ type: 'idr' });
const FAR = 99;

describe('video that can never be read says so', () => {
  let sender: Sender;
  let receiver: TrackReceiver;

  beforeEach(() => {
    sender = new Sender();
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
      sender = new Sender();
      receiver = new TrackReceiver(medium());
      begin();
      framesOf(receiver, sender.picture([Buffer.from([0x60 | type, 0, 0, 0, 0])]));
      assertFault(/unusual kind/);
    }
  });

  it('where a parameter set in the stream cannot be read', () => {
    framesOf(receiver, sender.picture([Buffer.from([0x67, 66])]));
    assertFault(/cannot be read/);
  });

  it('where three key frames in a row come without parameter sets', () => {
    for (let count = 0; count < 3; count += 1) {
      assert.equal(receiver.fault, undefined);
      framesOf(receiver, sender.picture([IDR]));
    }
    assertFault(/no parameter sets/);
  });

  it('where a unit is larger than 8 MiB, in pieces', () => {
    begin();
    const piece = Buffer.alloc(60_000, 0x55);
    framesOf(receiver, [sender.packet(Buffer.concat([Buffer.from([0x7c, 0x85]), piece]))]);
    for (let count = 0; count < 140 && receiver.fault === undefined; count += 1)
      framesOf(receiver, [sender.packet(Buffer.concat([Buffer.from([0x7c, 0x05]), piece]))]);
    assertFault(/larger than 8 MiB/);
  });

  it('where a picture is larger than 8 MiB, in slices', () => {
    begin();
    framesOf(receiver, [sender.packet(h264Slice({ length: 60_000 }))]);
    for (let count = 0; count < 140 && receiver.fault === undefined; count += 1)
      framesOf(receiver, [sender.packet(h264Slice({ length: 60_000, firstMacroblock: FAR }))]);
    assertFault(/larger than 8 MiB/);
  });

  it('where a picture has thousands of slices', () => {
    begin();
    const slices = Array.from({ length: 3000 }, () => h264Slice({ firstMacroblock: FAR, length: 0 }));
    framesOf(receiver, [sender.packet(h264Slice()), sender.packet(stapA(slices))]);
    assertFault(/more than 1024 parts/);
  });
});
