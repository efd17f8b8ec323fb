import assert from 'node:assert/strict';
import { StreamClock } from '../../../lib/video/rtp/transport/stream-clock';

const RATE = 90_000;
const WRAP = 2 ** 32;

function times(clock: StreamClock, seconds: readonly number[], from = 0): number[] {
  return seconds.map((second) => clock.at((((from + second * RATE) % WRAP) + WRAP) % WRAP));
}

describe('the clock of a stream', () => {
  it('begins at 0 with the first packet', () => {
    assert.deepEqual(times(new StreamClock(RATE, undefined), [0, 0.5, 1], 1_000_000), [0, 0.5, 1]);
  });

  it('begins at the time stamp that was announced', () => {
    assert.deepEqual(times(new StreamClock(RATE, 900_000), [1.5, 2], 900_000), [1.5, 2]);
    assert.deepEqual(times(new StreamClock(RATE, 900_000), [-1, 0], 900_000), [-1, 0]);
    assert.deepEqual(times(new StreamClock(RATE, 900_000), [-60, -59], 900_000), [-60, -59]);
  });

  it('does not believe an announced time stamp that no packet is near', () => {
    assert.deepEqual(times(new StreamClock(RATE, 0), [0, 1], 3_000_000_000), [0, 1]);
    assert.deepEqual(times(new StreamClock(RATE, 0), [61, 62]), [0, 1]);
  });

  it('goes on where 32 bits end, and back', () => {
    assert.deepEqual(
      times(new StreamClock(RATE, undefined), [0, 1, 2, 1.5, 3], WRAP - RATE),
      [0, 1, 2, 1.5, 3],
    );
    assert.deepEqual(times(new StreamClock(RATE, WRAP - RATE), [2, 3], WRAP - RATE), [2, 3]);
  });

  it('goes back where pictures are sent before those that are shown earlier', () => {
    assert.deepEqual(times(new StreamClock(RATE, undefined), [0, 0.3, 0.1, 0.2]), [0, 0.3, 0.1, 0.2]);
  });

  it('goes on for days', () => {
    const clock = new StreamClock(RATE, undefined);
    const day = 86_400;
    let last = 0;
    for (let second = 0; second <= 2 * day; second += 8) last = clock.at((second * RATE) % WRAP);
    assert.equal(last, 2 * day);
  });

  it('goes on where it was when the time stamps leap by more than ten seconds, in either direction', () => {
    const clock = new StreamClock(RATE, undefined);
    assert.deepEqual(times(clock, [0, 1, 100, 101, 20, 21]), [0, 1, 2, 3, 4, 5]);
  });

  it('follows a pause of up to ten seconds', () => {
    assert.deepEqual(times(new StreamClock(RATE, undefined), [0, 10]), [0, 10]);
  });

  it('goes on where it was with another source', () => {
    const clock = new StreamClock(RATE, undefined);
    times(clock, [0, 0.5]);
    clock.anotherSource();
    assert.deepEqual(times(clock, [0.6, 1.1]), [1, 1.5]);
  });

  describe('beside the wall clock of the sender', () => {
    it('is not known before it was told', () => {
      const clock = new StreamClock(RATE, undefined);
      clock.at(0);
      assert.equal(clock.wallClock(0), undefined);
    });

    it('is known at any time, before and after', () => {
      const clock = new StreamClock(RATE, undefined);
      clock.at(5 * RATE);
      clock.setWall({ wallMs: 1_760_000_000_000, rtpTime: 7 * RATE });
      assert.deepEqual(
        [0, 2, 3].map((time) => clock.wallClock(time)),
        [1_759_999_998_000, 1_760_000_000_000, 1_760_000_001_000],
      );
    });

    it('is known from the first packet on where it was told before', () => {
      const clock = new StreamClock(RATE, undefined);
      clock.setWall({ wallMs: 1000, rtpTime: 4 * RATE });
      clock.at(5 * RATE);
      assert.equal(clock.wallClock(0), 2000);
    });

    it('keeps to the last that was told', () => {
      const clock = new StreamClock(RATE, undefined);
      clock.at(0);
      clock.setWall({ wallMs: 1000, rtpTime: 0 });
      clock.setWall({ wallMs: 1100, rtpTime: 0 });
      assert.equal(clock.wallClock(0), 1100);
    });

    it('stays as it is once the time stamps wrapped', () => {
      const clock = new StreamClock(RATE, undefined);
      clock.at(0);
      clock.setWall({ wallMs: 0, rtpTime: 0 });
      for (let second = 0; second < 50_000; second += 8) clock.at((second * RATE) % WRAP);
      assert.equal(clock.wallClock(49_992), 49_992_000);
    });

    it('is forgotten where the time stamps leap, and with another source', () => {
      const clock = new StreamClock(RATE, undefined);
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
