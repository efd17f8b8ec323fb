import assert from 'node:assert/strict';
import { CancelToken } from '../../../lib/concurrency/signals';
import { RvmError } from '../../../lib/error';
import { SessionSlots } from '../../../lib/video/sessions/session-slots';

describe('the places for RTSP sessions of a cloud', () => {
  let now: number;
  const places = (all: number): SessionSlots => new SessionSlots(all, () => now);
  beforeEach(() => {
    now = 0;
  });

  /** Notes the order in which those get a place who wait for one. */
  function line(of: SessionSlots, order: string[]): (name: string, alarmTime?: number) => Promise<void> {
    return async (name, alarmTime) => {
      const leave = await of.take(new CancelToken(), alarmTime);
      order.push(name);
      leave();
    };
  }

  it('are given at once while there are any', async () => {
    const two = places(2);
    await two.take(new CancelToken());
    await two.take(new CancelToken());
    assert.deepEqual([two.taken, two.waiting], [2, 0]);
  });

  it('are given in the order in which they were asked for', async () => {
    const one = places(1);
    const order: string[] = [];
    const wait = line(one, order);
    const leave = await one.take(new CancelToken());
    const all = [wait('first', 1), wait('second', 3), wait('third', 2)];
    leave();
    await Promise.all(all);
    assert.deepEqual(order, ['first', 'second', 'third']);
  });

  it('are given to the newest alarm first, once somebody has waited for over half a minute', async () => {
    const one = places(1);
    const order: string[] = [];
    const wait = line(one, order);
    const leave = await one.take(new CancelToken());
    const all = [wait('oldest', 1), wait('newest', 3), wait('middle', 2), wait('no alarm')];
    now = 30_001;
    leave();
    await Promise.all(all);
    assert.deepEqual(order, ['newest', 'middle', 'oldest', 'no alarm']);
  });

  it('are waited for by a hundred at most; one more is told so at once', async () => {
    const one = places(1);
    await one.take(new CancelToken());
    const ending = new CancelToken();
    const waiting = Array.from({ length: 100 }, () => one.take(ending));
    await assert.rejects(one.take(new CancelToken()), { code: 'VIDEO_BUSY' });
    ending.abort(new RvmError('CANCELLED', 'Enough.'));
    const results = await Promise.allSettled(waiting);
    assert.ok(results.every(({ status }) => status === 'rejected'));
  });

  it('are not waited for any more by one that was ended', async () => {
    const one = places(1);
    const leave = await one.take(new CancelToken());
    const ending = new CancelToken();
    const ended = one.take(ending);
    ending.abort(new RvmError('CANCELLED', 'Enough.'));
    await assert.rejects(ended, { code: 'CANCELLED' });
    leave();
    await one.take(new CancelToken());
    assert.equal(one.taken, 1);
  });

  it('are given back once, however often that is said', async () => {
    const one = places(1);
    const leave = await one.take(new CancelToken());
    leave();
    leave();
    await one.take(new CancelToken());
    assert.equal(one.taken, 1);
  });
});
