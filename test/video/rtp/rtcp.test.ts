import assert from 'node:assert/strict';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { bye, rtpPacket, senderReport, SSRC } from '../../../scripts/fuzz/inputs/rtp';
import { framesOf, medium, range, RATE, RtpSender } from '../../support/rtp/sender';

/** 2025-10-09, 08:53:20 UTC, in milliseconds since 1970 and in seconds since 1900. */
const WALL_MS = 1_760_000_000_000;
const NTP = 3_968_988_800;
const OTHER = 0x87654321;
/** An application's own packet, which means nothing to us. */
const APP = Buffer.from([0x80, 204, 0, 2, 0, 0, 0, 1, 0x61, 0x62, 0x63, 0x64]);

/** One that has a picture of time 0. */
function begun(): TrackReceiver {
  const receiver = new TrackReceiver(medium());
  framesOf(receiver, new RtpSender(1, 5000).key());
  return receiver;
}

describe('the reports of a sender', () => {
  const atBegin = (fields: Parameters<typeof senderReport>[0]): Buffer =>
    senderReport({ rtpTime: 5000, ...fields });
  const LATER = senderReport({ ntpSeconds: NTP, ntpFraction: 2 ** 31, rtpTime: 5000 + RATE });
  const ANEW = Date.UTC(2036, 1, 7, 6, 28, 16);
  for (const [what, report, wallMs] of [
    ['tell its wall clock', atBegin({ ntpSeconds: NTP }), WALL_MS],
    ['tell its wall clock at a later time of the stream, with its fraction', LATER, WALL_MS - 500],
    ['stand anywhere in a compound packet', Buffer.concat([APP, atBegin({ ntpSeconds: NTP }), APP]), WALL_MS],
    ['of another source say nothing', atBegin({ ssrc: OTHER, ntpSeconds: NTP }), undefined],
    ['tell no wall clock where it is 0', atBegin({ ntpSeconds: 0 }), undefined],
    ['tell no wall clock in seconds since a start', atBegin({ ntpSeconds: 2_208_988_800 + 3600 }), undefined],
    ['go on in 2036, when the seconds of NTP begin anew', atBegin({ ntpSeconds: 100 }), ANEW + 100_000],
  ] as const)
    it(what, () => {
      const receiver = begun();
      assert.equal(receiver.wallClock(0), undefined);
      receiver.rtcp(report);
      assert.equal(receiver.wallClock(0), wallMs);
      assert.equal(receiver.wallClock(1), wallMs && wallMs + 1000);
    });

  it('may come before its first packet', () => {
    const receiver = new TrackReceiver(medium());
    receiver.rtcp(atBegin({ ntpSeconds: NTP }));
    assert.equal(receiver.wallClock(0), undefined);
    framesOf(receiver, new RtpSender(1, 5000).key());
    assert.equal(receiver.wallClock(0), WALL_MS);
  });
});

describe('the farewell of a sender', () => {
  const tooLong = senderReport();
  tooLong.writeUInt16BE(500, 2);
  const short = bye([]);
  short[0] = 0x9f;
  const CASES: [what: string, bytes: Buffer[], heard?: 'bye'][] = [
    ['is heard alone', [bye()], 'bye'],
    ['is heard in a compound packet', [senderReport(), APP, bye()], 'bye'],
    ['may name no source', [bye([])], 'bye'],
    ['may name several sources', [bye([OTHER, SSRC])], 'bye'],
    ['names no more sources than it has bytes', [short], 'bye'],
    ['of another source is none', [bye([OTHER])]],
    ['is not heard behind a length that lies', [tooLong, bye()]],
    ['is not heard behind what is of another version', [Buffer.from([0, 203, 0, 0]), bye()]],
  ];
  for (const [what, bytes, heard] of CASES)
    it(what, () => assert.equal(begun().rtcp(Buffer.concat(bytes)), heard));

  it('is heard before its first packet', () => {
    assert.equal(new TrackReceiver(medium()).rtcp(bye()), 'bye');
  });
});

describe('the report of a receiver', () => {
  /** A clock that moves when told, in milliseconds. */
  let ms = 0;
  let receiver: TrackReceiver;

  beforeEach(() => {
    ms = 1000;
    receiver = new TrackReceiver(medium(), {}, () => ms);
  });

  function receive(sequences: readonly number[]): void {
    for (const sequence of sequences) receiver.rtp(rtpPacket(Buffer.from([0x41, 0x9a]), { sequence }));
  }

  function told(): Record<'fraction' | 'lost' | 'highest' | 'jitter' | 'last' | 'delay', number> {
    const report = receiver.receiverReport();
    assert.deepEqual([report[0], report[1], report.readUInt16BE(2)], [0x81, 201, 7]);
    assert.equal(report.readUInt32BE(8), SSRC);
    const [fraction, lost] = [report.readUInt8(12), report.readIntBE(13, 3)];
    const [highest, jitter] = [report.readUInt32BE(16), report.readUInt32BE(20)];
    return { fraction, lost, highest, jitter, last: report.readUInt32BE(24), delay: report.readUInt32BE(28) };
  }

  it('is empty before the first packet, but names its sender in a compound packet', () => {
    const report = receiver.receiverReport();
    assert.deepEqual([report[0], report[1], report.readUInt16BE(2)], [0x80, 201, 1]);
    const description = report.subarray(8);
    assert.deepEqual([description[0], description[1]], [0x81, 202]);
    assert.equal(description.length, (description.readUInt16BE(2) + 1) * 4);
    assert.deepEqual(description.subarray(4, 8), report.subarray(4, 8));
    assert.equal(description[8], 1);
    assert.equal(description[10 + description.readUInt8(9)], 0);
  });

  it('names the same sender each time, and two receivers differ', () => {
    assert.deepEqual(receiver.receiverReport(), receiver.receiverReport());
    assert.notDeepEqual(receiver.receiverReport(), new TrackReceiver(medium()).receiverReport());
  });

  it('counts what was lost since the last one, and in all', () => {
    receive([...range(1, 50), ...range(76, 100)]);
    assert.partialDeepStrictEqual(told(), { fraction: 64, lost: 25, highest: 100 });
    receive(range(101, 120));
    assert.partialDeepStrictEqual(told(), { fraction: 0, lost: 25, highest: 120 });
    assert.equal(receiver.lost, 25);
  });

  it('counts the rounds of the numbers', () => {
    receive(range(65_530, 65_540));
    assert.equal(told().highest, 65_540);
  });

  it('counts what came twice as come', () => {
    receive([1, 2, 2, 2, 3]);
    assert.partialDeepStrictEqual(told(), { fraction: 0, lost: -2 });
  });

  it('measures how unevenly packets come, in ticks', () => {
    for (let count = 0; count < 200; count += 1) {
      ms += count % 2 === 0 ? 100 : 120;
      receiver.rtp(rtpPacket(Buffer.from([0x41, 0x9a]), { sequence: count, rtpTime: count * 0.11 * RATE }));
    }
    const { jitter } = told();
    assert.ok(Math.abs(jitter - 900) < 20, `${jitter} ticks of about 10 ms`);
  });

  it('names the last report of the sender, and how long ago it came', () => {
    receive([1]);
    assert.partialDeepStrictEqual(told(), { last: 0, delay: 0 });
    receiver.rtcp(senderReport({ ntpSeconds: 0xabcd1234, ntpFraction: 0x56789abc }));
    ms += 1500;
    assert.partialDeepStrictEqual(told(), { last: 0x12345678, delay: 1.5 * 65_536 });
  });
});
