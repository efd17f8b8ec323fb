import assert from 'node:assert/strict';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { bye, rtpPacket, senderReport, SSRC } from '../../../scripts/fuzz/inputs/rtp';
import { framesOf, medium, RATE, RtpSender } from '../../support/rtp/sender';

/** 2025-10-09, 08:53:20 UTC, in milliseconds since 1970 and in seconds since 1900. */
const WALL_MS = 1_760_000_000_000;
const NTP = 3_968_988_800;
const OTHER = 0x87654321;
/** An application's own packet, which means nothing to us. */
const APP = Buffer.from([0x80, 204, 0, 2, 0, 0, 0, 1, 0x61, 0x62, 0x63, 0x64]);

function receiverWith(sender: RtpSender): TrackReceiver {
  const receiver = new TrackReceiver(medium());
  framesOf(receiver, sender.key());
  return receiver;
}

describe('the reports of a sender', () => {
  it('tell its wall clock at the times of the stream', () => {
    const receiver = receiverWith(new RtpSender(1, 5000));
    assert.equal(receiver.wallClock(0), undefined);
    receiver.rtcp(senderReport({ ntpSeconds: NTP, ntpFraction: 2 ** 31, rtpTime: 5000 + RATE }));
    assert.equal(receiver.wallClock(1), WALL_MS + 500);
    assert.equal(receiver.wallClock(0), WALL_MS - 500);
  });

  it('may come before its first packet', () => {
    const receiver = new TrackReceiver(medium());
    receiver.rtcp(senderReport({ ntpSeconds: NTP, rtpTime: 5000 }));
    assert.equal(receiver.wallClock(0), undefined);
    framesOf(receiver, new RtpSender(1, 5000).key());
    assert.equal(receiver.wallClock(0), WALL_MS);
  });

  it('stand anywhere in a compound packet', () => {
    const receiver = receiverWith(new RtpSender(1, 5000));
    receiver.rtcp(Buffer.concat([APP, senderReport({ ntpSeconds: NTP, rtpTime: 5000 }), APP]));
    assert.equal(receiver.wallClock(0), WALL_MS);
  });

  it('of another source say nothing', () => {
    const receiver = receiverWith(new RtpSender(1, 5000));
    receiver.rtcp(senderReport({ ssrc: OTHER, ntpSeconds: NTP, rtpTime: 5000 }));
    assert.equal(receiver.wallClock(0), undefined);
  });

  it('tell no wall clock where there is none: 0, or the seconds since a start', () => {
    for (const ntpSeconds of [0, 2_208_988_800 + 3600]) {
      const receiver = receiverWith(new RtpSender(1, 5000));
      receiver.rtcp(senderReport({ ntpSeconds, rtpTime: 5000 }));
      assert.equal(receiver.wallClock(0), undefined);
    }
  });

  it('go on in 2036, when the seconds of NTP begin anew', () => {
    const receiver = receiverWith(new RtpSender(1, 5000));
    receiver.rtcp(senderReport({ ntpSeconds: 100, rtpTime: 5000 }));
    assert.equal(receiver.wallClock(0), Date.UTC(2036, 1, 7, 6, 28, 16) + 100_000);
  });
});

describe('the farewell of a sender', () => {
  it('is heard alone and in a compound packet', () => {
    assert.equal(receiverWith(new RtpSender()).rtcp(bye()), 'bye');
    assert.equal(receiverWith(new RtpSender()).rtcp(Buffer.concat([senderReport(), APP, bye()])), 'bye');
  });

  it('is heard before its first packet', () => {
    assert.equal(new TrackReceiver(medium()).rtcp(bye()), 'bye');
  });

  it('may name no source, or several', () => {
    assert.equal(receiverWith(new RtpSender()).rtcp(bye([])), 'bye');
    assert.equal(receiverWith(new RtpSender()).rtcp(bye([OTHER, SSRC])), 'bye');
  });

  it('of another source is none', () => {
    assert.equal(receiverWith(new RtpSender()).rtcp(bye([OTHER])), undefined);
  });

  it('is not heard behind what is broken', () => {
    const broken = senderReport();
    broken.writeUInt16BE(500, 2);
    assert.equal(receiverWith(new RtpSender()).rtcp(Buffer.concat([broken, bye()])), undefined);
    assert.equal(
      receiverWith(new RtpSender()).rtcp(Buffer.concat([Buffer.from([0, 203, 0, 0]), bye()])),
      undefined,
    );
  });

  it('names no more sources than it has bytes', () => {
    const short = bye([]);
    short[0] = 0x9f;
    assert.equal(receiverWith(new RtpSender()).rtcp(short), 'bye');
  });
});

describe('the report of a receiver', () => {
  /** A clock that moves when told, in milliseconds. */
  let ms = 0;
  const now = (): number => ms;

  beforeEach(() => {
    ms = 1000;
  });

  function receive(receiver: TrackReceiver, sequences: readonly number[]): void {
    for (const sequence of sequences) receiver.rtp(rtpPacket(Buffer.from([0x41, 0x9a]), { sequence }));
  }

  function range(from: number, to: number): number[] {
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  }

  function block(
    report: Buffer,
  ): Record<'fraction' | 'lost' | 'highest' | 'jitter' | 'last' | 'delay', number> {
    assert.deepEqual([report[0], report[1], report.readUInt16BE(2)], [0x81, 201, 7]);
    assert.equal(report.readUInt32BE(8), SSRC);
    return {
      fraction: report.readUInt8(12),
      lost: report.readIntBE(13, 3),
      highest: report.readUInt32BE(16),
      jitter: report.readUInt32BE(20),
      last: report.readUInt32BE(24),
      delay: report.readUInt32BE(28),
    };
  }

  it('is empty before the first packet, but names its sender in a compound packet', () => {
    const report = new TrackReceiver(medium(), {}, now).receiverReport();
    assert.deepEqual([report[0], report[1], report.readUInt16BE(2)], [0x80, 201, 1]);
    const description = report.subarray(8);
    assert.deepEqual([description[0], description[1]], [0x81, 202]);
    assert.equal(description.length, (description.readUInt16BE(2) + 1) * 4);
    assert.deepEqual(description.subarray(4, 8), report.subarray(4, 8));
    assert.equal(description[8], 1);
    assert.equal(description[10 + description.readUInt8(9)], 0);
  });

  it('names the same sender each time, and two receivers differ', () => {
    const [one, other] = [new TrackReceiver(medium(), {}, now), new TrackReceiver(medium(), {}, now)];
    assert.deepEqual(one.receiverReport(), one.receiverReport());
    assert.notDeepEqual(one.receiverReport(), other.receiverReport());
  });

  it('counts what was lost since the last one, and in all', () => {
    const receiver = new TrackReceiver(medium(), {}, now);
    receive(receiver, [...range(1, 50), ...range(76, 100)]);
    const { fraction, lost, highest } = block(receiver.receiverReport());
    assert.deepEqual([fraction, lost, highest], [64, 25, 100]);
    receive(receiver, range(101, 120));
    const next = block(receiver.receiverReport());
    assert.deepEqual([next.fraction, next.lost, next.highest], [0, 25, 120]);
    assert.equal(receiver.lost, 25);
  });

  it('counts the rounds of the numbers', () => {
    const receiver = new TrackReceiver(medium(), {}, now);
    receive(receiver, range(65_530, 65_540));
    assert.equal(block(receiver.receiverReport()).highest, 65_540);
  });

  it('counts what came twice as come', () => {
    const receiver = new TrackReceiver(medium(), {}, now);
    receive(receiver, [1, 2, 2, 2, 3]);
    const { fraction, lost } = block(receiver.receiverReport());
    assert.deepEqual([fraction, lost], [0, -2]);
  });

  it('measures how unevenly packets come, in ticks', () => {
    const receiver = new TrackReceiver(medium(), {}, now);
    for (let count = 0; count < 200; count += 1) {
      ms += count % 2 === 0 ? 100 : 120;
      receiver.rtp(rtpPacket(Buffer.from([0x41, 0x9a]), { sequence: count, rtpTime: count * 0.11 * RATE }));
    }
    const { jitter } = block(receiver.receiverReport());
    assert.ok(Math.abs(jitter - 900) < 20, `${jitter} ticks of about 10 ms`);
  });

  it('names the last report of the sender, and how long ago it came', () => {
    const receiver = new TrackReceiver(medium(), {}, now);
    receive(receiver, [1]);
    assert.deepEqual([block(receiver.receiverReport()).last, block(receiver.receiverReport()).delay], [0, 0]);
    receiver.rtcp(senderReport({ ntpSeconds: 0xabcd1234, ntpFraction: 0x56789abc }));
    ms += 1500;
    const { last, delay } = block(receiver.receiverReport());
    assert.deepEqual([last, delay], [0x12345678, 1.5 * 65_536]);
  });
});
