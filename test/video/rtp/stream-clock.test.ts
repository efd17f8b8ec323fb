import assert from 'node:assert/strict';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { RtpClock } from '../../../lib/video/rtp/media-clock';
import { senderReport } from '../../../scripts/fuzz/inputs/rtp';
import { medium, RtpSender, videoOf } from '../../support/rtp/sender';

const RATE = 90_000;
const WRAP = 2 ** 32;

function times(clock: RtpClock, seconds: readonly number[], from = 0): number[] {
  return seconds.map((second) => clock.at((((from + second * RATE) % WRAP) + WRAP) % WRAP));
}

describe('the clock of a stream', () => {
  it('begins at 0 with the first packet', () => {
    assert.deepEqual(times(new RtpClock(RATE, undefined), [0, 0.5, 1], 1_000_000), [0, 0.5, 1]);
  });

  it('begins at the time stamp that was announced', () => {
    assert.deepEqual(times(new RtpClock(RATE, 900_000), [1.5, 2], 900_000), [1.5, 2]);
    assert.deepEqual(times(new RtpClock(RATE, 900_000), [-1, 0], 900_000), [-1, 0]);
    assert.deepEqual(times(new RtpClock(RATE, 900_000), [-60, -59], 900_000), [-60, -59]);
  });

  it('does not believe an announced time stamp that no packet is near', () => {
    assert.deepEqual(times(new RtpClock(RATE, 0), [0, 1], 3_000_000_000), [0, 1]);
    assert.deepEqual(times(new RtpClock(RATE, 0), [61, 62]), [0, 1]);
  });

  it('goes on where 32 bits end, and back', () => {
    assert.deepEqual(times(new RtpClock(RATE, undefined), [0, 1, 2, 1.5, 3], WRAP - RATE), [0, 1, 2, 1.5, 3]);
    assert.deepEqual(times(new RtpClock(RATE, WRAP - RATE), [2, 3], WRAP - RATE), [2, 3]);
  });

  it('goes back where pictures are sent before those that are shown earlier', () => {
    assert.deepEqual(times(new RtpClock(RATE, undefined), [0, 0.3, 0.1, 0.2]), [0, 0.3, 0.1, 0.2]);
  });

  it('goes on for days', () => {
    const clock = new RtpClock(RATE, undefined);
    const day = 86_400;
    let last = 0;
    for (let second = 0; second <= 2 * day; second += 8) last = clock.at((second * RATE) % WRAP);
    assert.equal(last, 2 * day);
  });

  it('goes on where it was when the time stamps leap by more than ten seconds, in either direction', () => {
    const clock = new RtpClock(RATE, undefined);
    assert.deepEqual(times(clock, [0, 1, 100, 101, 20, 21]), [0, 1, 2, 3, 4, 5]);
  });

  it('goes on where it was when the time stamps step back by less, again and again', () => {
    const clock = new RtpClock(RATE, undefined);
    assert.deepEqual(times(clock, [10, 11, 12, 9, 10, 11, 8.5, 9.5, 10.5]), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  for (const [what, off] of [
    ['three seconds in the past', -3],
    ['hours in the past', -9800],
    ['hours in the future', 9800],
  ] as const)
    it(`counts on where one picture is ${what}, and keeps the wall clock`, () => {
      const clock = new RtpClock(RATE, undefined);
      times(clock, [20, 20.5]);
      clock.setWall({ wallMs: 5000, rtpTime: 20 * RATE });
      assert.deepEqual(times(clock, [21 + off, 21.25, 21.75, 22 + off, 22.25]), [1, 1.25, 1.75, 2.25, 2.25]);
      assert.equal(clock.wallClock(2.25), 7250);
    });

  it('counts on where several pictures are off, however far', () => {
    for (const off of [-3, -9800, 9800]) {
      const clock = new RtpClock(RATE, undefined);
      const sent = [20, 20.5, 21 + off, 21.5 + off, 22, 22.5, 23 + off, 23.5];
      assert.deepEqual(times(clock, sent), [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], `${off} s`);
    }
  });

  it('does not run away with time stamps that mean nothing', () => {
    const clock = new RtpClock(RATE, undefined);
    let seed = 1;
    let last = 0;
    for (let n = 0; n < 1000; n += 1) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      last = Math.max(last, clock.at(seed * 2));
    }
    assert.ok(last <= 10_000, `${last} s`);
  });

  it('follows the order of decoding of groups within groups, open ones, too', () => {
    const order = [0, -2, -1, 8, 4, 2, 1, 3, 6, 5, 7, 12, 10, 9, 11, 13];
    assert.deepEqual(times(new RtpClock(RATE, undefined), order, 50 * RATE), order);
  });

  it('takes an announced time stamp of 0 for an unknown one, where the first packet is later', () => {
    assert.deepEqual(times(new RtpClock(RATE, 0), [20, 21]), [0, 1]);
    assert.deepEqual(times(new RtpClock(RATE, 0), [0.5, 1]), [0.5, 1]);
    assert.deepEqual(times(new RtpClock(RATE, 0), [-5, -4]), [-5, -4]);
  });

  it('follows a pause of up to ten seconds', () => {
    assert.deepEqual(times(new RtpClock(RATE, undefined), [0, 10]), [0, 10]);
  });

  it('goes on where it was with another source', () => {
    const clock = new RtpClock(RATE, undefined);
    times(clock, [0, 0.5]);
    clock.anotherSource();
    assert.deepEqual(times(clock, [0.6, 1.1]), [1, 1.5]);
  });

  describe('beside the wall clock of the sender', () => {
    it('is not known before it was told', () => {
      const clock = new RtpClock(RATE, undefined);
      clock.at(0);
      assert.equal(clock.wallClock(0), undefined);
    });

    it('is known at any time, before and after', () => {
      const clock = new RtpClock(RATE, undefined);
      clock.at(5 * RATE);
      clock.setWall({ wallMs: 1_760_000_000_000, rtpTime: 7 * RATE });
      assert.deepEqual(
        [0, 2, 3].map((time) => clock.wallClock(time)),
        [1_759_999_998_000, 1_760_000_000_000, 1_760_000_001_000],
      );
    });

    it('is known from the first packet on where it was told before', () => {
      const clock = new RtpClock(RATE, undefined);
      clock.setWall({ wallMs: 1000, rtpTime: 4 * RATE });
      clock.at(5 * RATE);
      assert.equal(clock.wallClock(0), 2000);
    });

    it('keeps to the last that was told', () => {
      const clock = new RtpClock(RATE, undefined);
      clock.at(0);
      clock.setWall({ wallMs: 1000, rtpTime: 0 });
      clock.setWall({ wallMs: 1100, rtpTime: 0 });
      assert.equal(clock.wallClock(0), 1100);
    });

    it('stays as it is once the time stamps wrapped', () => {
      const clock = new RtpClock(RATE, undefined);
      clock.at(0);
      clock.setWall({ wallMs: 0, rtpTime: 0 });
      for (let second = 0; second < 50_000; second += 8) clock.at((second * RATE) % WRAP);
      assert.equal(clock.wallClock(49_992), 49_992_000);
    });

    it('is forgotten where the time stamps leap, and with another source', () => {
      const clock = new RtpClock(RATE, undefined);
      clock.at(0);
      clock.setWall({ wallMs: 1000, rtpTime: 0 });
      clock.at(1000 * RATE);
      assert.equal(clock.wallClock(0), undefined);
      clock.setWall({ wallMs: 1000, rtpTime: 1000 * RATE });
      clock.anotherSource();
      assert.equal(clock.wallClock(0), undefined);
    });
  });
});

describe('pictures of a sender whose clock is none', () => {
  /** What comes of pictures that are sent at these times, in milliseconds, with these time stamps, in ticks. */
  function shownOf(
    sent: readonly { ms: number; ticks: number }[],
    report?: { at: number; bytes: Buffer },
  ): { times: number[]; receiver: TrackReceiver } {
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

  const every = (count: number, ms: number, ticks: number): { ms: number; ticks: number }[] =>
    Array.from({ length: count }, (_, n) => ({ ms: n * ms, ticks: n * ticks }));

  it('that stands still are shown as they come', () => {
    const { times: shown } = shownOf(every(40, 100, 0));
    assert.deepEqual(shown.slice(0, 4), [0, 100, 200, 300]);
    assert.equal(shown[39], 3900);
  });

  it('that runs in milliseconds are shown as they come', () => {
    assert.equal(shownOf(every(40, 100, 100)).times[39], 3900);
    assert.equal(shownOf(every(40, 40, 40)).times[39], 1560);
  });

  it('that runs in milliseconds, one or two a second, are shown as they come after a few', () => {
    assert.deepEqual(
      shownOf(every(12, 1000, 1000)).times.slice(5),
      [5000, 6000, 7000, 8000, 9000, 10_000, 11_000],
    );
    assert.equal(shownOf(every(12, 500, 500)).times[11], 5500);
  });

  it('that stands still are a tenth of a second apart where all come at once', () => {
    const { times: shown } = shownOf(every(80, 0, 0));
    assert.ok(Math.abs((shown[79] ?? 0) - 7900) <= 500, String(shown[79]));
    assert.ok(shown.every((time, index) => index === 0 || time > (shown[index - 1] ?? 0)));
  });

  it('that stands still for a while are shown as they come, and then go on', () => {
    const still = every(20, 100, 0);
    const on = every(10, 100, 9000).map(({ ms, ticks }) => ({ ms: ms + 2000, ticks: ticks + 9000 }));
    const { times: shown } = shownOf([...still, ...on]);
    assert.deepEqual([shown[19], shown[20], shown[29]], [1900, 2000, 2900]);
  });

  it('that tells one time for two, each time, keep the time of the stream', () => {
    const sent = Array.from({ length: 20 }, (_, n) => ({ ms: n * 40, ticks: Math.floor(n / 2) * 7200 }));
    assert.deepEqual(
      shownOf(sent).times,
      Array.from({ length: 20 }, (_, n) => n * 40),
    );
  });

  it('that is well keep it, though the line stands still or gives all at once', () => {
    const stalled = every(20, 40, 3600).map(({ ms, ticks }, n) => ({ ms: n < 5 ? ms : ms + 4000, ticks }));
    for (const sent of [stalled, every(20, 0, 3600)])
      assert.deepEqual(
        shownOf(sent).times,
        Array.from({ length: 20 }, (_, n) => n * 40),
      );
  });

  it('have no wall clock, whatever the sender reports of time stamps that tell nothing', () => {
    const report = senderReport({ ntpSeconds: 3_968_988_800, rtpTime: 5000 });
    const { receiver } = shownOf(every(31, 100, 0), { at: 30, bytes: report });
    assert.equal(receiver.wallClock(3), undefined);
  });
});
