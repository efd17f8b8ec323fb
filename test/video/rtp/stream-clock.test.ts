import assert from 'node:assert/strict';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { RtpClock } from '../../../lib/video/rtp/media-clock';
import { senderReport } from '../../../scripts/fuzz/inputs/rtp';
import { medium, RATE, RtpSender, videoOf } from '../../support/rtp/sender';

const WRAP = 2 ** 32;

function times(clock: RtpClock, seconds: readonly number[], from = 0): number[] {
  return seconds.map((second) => clock.at((((from + second * RATE) % WRAP) + WRAP) % WRAP));
}

describe('the clock of a stream', () => {
  const HELD_BACK = [0, 0.3, 0.1, 0.2];
  /** Of groups within groups. */
  const DECODED = [0, -2, -1, 8, 4, 2, 1, 3, 6, 5, 7, 12, 10, 9, 11, 13];
  const CASES: [title: string, sent: number[], told: number[], from?: number, announced?: number][] = [
    ['begins at 0 with the first packet', [0, 0.5, 1], [0, 0.5, 1], 1_000_000],
    ['begins at the time stamp that was announced', [1.5, 2], [1.5, 2], 900_000, 900_000],
    ['begins a second before it', [-1, 0], [-1, 0], 900_000, 900_000],
    ['begins a minute before it', [-60, -59], [-60, -59], 900_000, 900_000],
    ['does not believe an announced time stamp that no packet is near', [0, 1], [0, 1], 3_000_000_000, 0],
    ['does not believe one that is over a minute off', [61, 62], [0, 1], 0, 0],
    ['takes an announced one of 0 for unknown, where the first is later', [20, 21], [0, 1], 0, 0],
    ['takes one of 0 for known where the first is near', [0.5, 1], [0.5, 1], 0, 0],
    ['takes one of 0 for known where the first is before it', [-5, -4], [-5, -4], 0, 0],
    ['goes on where 32 bits end, and back', [0, 1, 2, 1.5, 3], [0, 1, 2, 1.5, 3], WRAP - RATE],
    ['goes on where 32 bits end behind what was announced', [2, 3], [2, 3], WRAP - RATE, WRAP - RATE],
    ['goes back where pictures come before those that are shown earlier', HELD_BACK, HELD_BACK],
    ['follows the order of decoding of groups within groups, open ones, too', DECODED, DECODED, 50 * RATE],
    ['follows a pause of up to ten seconds', [0, 10], [0, 10]],
    ['goes on where it was at leaps of over ten seconds', [0, 1, 100, 101, 20, 21], [0, 1, 2, 3, 4, 5]],
    [
      'goes on where it was when the time stamps step back by less, again and again',
      [10, 11, 12, 9, 10, 11, 8.5, 9.5, 10.5],
      [0, 1, 2, 3, 4, 5, 6, 7, 8],
    ],
  ];
  for (const [title, sent, told, from, announced] of CASES)
    it(title, () => assert.deepEqual(times(new RtpClock(RATE, announced), sent, from), told));

  for (const off of [-3, -9800, 9800]) {
    it(`counts on where one picture is ${off} s off, and keeps the wall clock`, () => {
      const clock = new RtpClock(RATE, undefined);
      times(clock, [20, 20.5]);
      clock.setWall({ wallMs: 5000, rtpTime: 20 * RATE });
      assert.deepEqual(times(clock, [21 + off, 21.25, 21.75, 22 + off, 22.25]), [1, 1.25, 1.75, 2.25, 2.25]);
      assert.equal(clock.wallClock(2.25), 7250);
    });

    it(`counts on where several pictures are ${off} s off`, () => {
      const sent = [20, 20.5, 21 + off, 21.5 + off, 22, 22.5, 23 + off, 23.5];
      assert.deepEqual(times(new RtpClock(RATE, undefined), sent), [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]);
    });
  }

  it('does not run away with time stamps that mean nothing', () => {
    const clock = new RtpClock(RATE, undefined);
    let [seed, last] = [1, 0];
    for (let n = 0; n < 1000; n += 1) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      last = Math.max(last, clock.at(seed * 2));
    }
    assert.ok(last <= 10_000, `${last} s`);
  });

  it('goes on where it was with another source', () => {
    const clock = new RtpClock(RATE, undefined);
    times(clock, [0, 0.5]);
    clock.anotherSource();
    assert.deepEqual(times(clock, [0.6, 1.1]), [1, 1.5]);
  });

  describe('beside the wall clock of the sender', () => {
    let clock: RtpClock;
    beforeEach(() => {
      clock = new RtpClock(RATE, undefined);
    });

    it('is known at any time, before and after, once it was told', () => {
      times(clock, [5]);
      assert.equal(clock.wallClock(0), undefined);
      clock.setWall({ wallMs: 1_760_000_000_000, rtpTime: 7 * RATE });
      assert.deepEqual(
        [0, 2, 3].map((time) => clock.wallClock(time)),
        [1_759_999_998_000, 1_760_000_000_000, 1_760_000_001_000],
      );
    });

    it('keeps to the last that was told', () => {
      times(clock, [0]);
      for (const wallMs of [1000, 1100]) clock.setWall({ wallMs, rtpTime: 0 });
      assert.equal(clock.wallClock(0), 1100);
    });

    it('goes on for days, as the stream does: the time stamps wrap', () => {
      times(clock, [0]);
      clock.setWall({ wallMs: 0, rtpTime: 0 });
      let last = 0;
      for (let second = 0; second <= 2 * 86_400; second += 8) [last = 0] = times(clock, [second]);
      assert.equal(last, 2 * 86_400);
      assert.equal(clock.wallClock(last), last * 1000);
    });

    it('is forgotten where the time stamps leap, and with another source', () => {
      times(clock, [0]);
      clock.setWall({ wallMs: 1000, rtpTime: 0 });
      times(clock, [1000]);
      assert.equal(clock.wallClock(0), undefined);
      clock.setWall({ wallMs: 1000, rtpTime: 1000 * RATE });
      clock.anotherSource();
      assert.equal(clock.wallClock(0), undefined);
    });
  });
});

describe('pictures of a sender whose clock is none', () => {
  interface Sent {
    ms: number;
    ticks: number;
  }

  /** What comes of pictures that are sent at these times, in milliseconds, with these time stamps, in ticks. */
  function shownOf(sent: readonly Sent[], report?: { at: number; bytes: Buffer }) {
    let now = 1000;
    const receiver = new TrackReceiver(medium(), {}, () => now);
    const sender = new RtpSender();
    const frames = sent.flatMap(({ ms, ticks }, index) => {
      now = 1000 + ms;
      sender.rtpTime = 5000 + ticks;
      if (index === report?.at) receiver.rtcp(report.bytes);
      return videoOf(receiver, index % 10 === 0 ? sender.key() : sender.delta());
    });
    return { times: frames.map(({ time }) => Math.round(time * 1000)), receiver };
  }

  const every = (count: number, ms: number, ticks: number): Sent[] =>
    Array.from({ length: count }, (_, n) => ({ ms: n * ms, ticks: n * ticks }));
  const steps = (count: number, ms: number): number[] => every(count, ms, 0).map((sent) => sent.ms);
  const later = (sent: Sent[], ms: number, ticks: number, from = 0): Sent[] =>
    sent.map((each, n) => (n < from ? each : { ms: each.ms + ms, ticks: each.ticks + ticks }));
  const [AT_25, SECONDS] = [every(20, 40, 3600), steps(12, 1000)];
  const inPairs = every(20, 40, 0).map(({ ms }, n) => ({ ms, ticks: Math.floor(n / 2) * 7200 }));

  /** From the so-many-th picture on, for at first it may be another way. */
  const CASES: [title: string, sent: Sent[], from: number, shown: number[]][] = [
    ['stands still are shown as they come', every(40, 100, 0), 0, steps(40, 100)],
    ['runs in milliseconds are shown as they come: ten a second', every(40, 100, 100), 39, [3900]],
    ['runs in milliseconds are shown as they come: 25 a second', every(40, 40, 40), 39, [1560]],
    ['runs in milliseconds, once a second, so after a few', every(12, 1000, 1000), 5, SECONDS.slice(5)],
    ['runs in milliseconds, twice a second, so after a few', every(12, 500, 500), 11, [5500]],
    ['tells one time for two, each time, keep the time of the stream', inPairs, 0, steps(20, 40)],
    ['is well keep it, though the line stands still', later(AT_25, 4000, 0, 5), 0, steps(20, 40)],
    ['is well keep it, though the line gives all at once', every(20, 0, 3600), 0, steps(20, 40)],
    [
      'stands still for a while are shown as they come, and then go on',
      [...every(20, 100, 0), ...later(every(10, 100, 9000), 2000, 9000)],
      19,
      steps(30, 100).slice(19),
    ],
  ];
  for (const [title, sent, from, shown] of CASES)
    it(`that ${title}`, () => assert.deepEqual(shownOf(sent).times.slice(from), shown));

  it('that stands still are a tenth of a second apart where all come at once', () => {
    const { times: shown } = shownOf(every(80, 0, 0));
    assert.ok(Math.abs((shown[79] ?? 0) - 7900) <= 500, String(shown[79]));
    assert.ok(shown.every((time, index) => index === 0 || time > (shown[index - 1] ?? 0)));
  });

  it('have no wall clock, whatever the sender reports of time stamps that tell nothing', () => {
    const report = senderReport({ ntpSeconds: 3_968_988_800, rtpTime: 5000 });
    const { receiver } = shownOf(every(31, 100, 0), { at: 30, bytes: report });
    assert.equal(receiver.wallClock(3), undefined);
  });
});
