import assert from 'node:assert/strict';
import { CancelToken } from '../../../lib/concurrency/signals';
import { RvmError } from '../../../lib/error';
import { SessionSlots } from '../../../lib/video/sessions/session-slots';

describe('the places for RTSP sessions of a cloud', () => {
  let now: number;
  let one: SessionSlots;
  /** Who got a place, in their order. */
  let order: string[];
  beforeEach(() => {
    now = 0;
    one = new SessionSlots(1, () => now);
    order = [];
  });

  const take = (alarmTime?: number): Promise<() => void> => one.take(new CancelToken(), alarmTime);
  async function wait(name: string, alarmTime?: number): Promise<void> {
    const leave = await take(alarmTime);
    order.push(name);
    leave();
  }

  it('are given at once while there are any', async () => {
    one = new SessionSlots(2);
    await Promise.all([take(), take()]);
    assert.deepEqual([one.taken, one.waiting], [2, 0]);
  });

  it('are given in the order in which they were asked for', async () => {
    const leave = await take();
    const all = [wait('first', 1), wait('second', 3), wait('third', 2)];
    leave();
    await Promise.all(all);
    assert.deepEqual(order, ['first', 'second', 'third']);
  });

  it('are given to the newest alarm first, once somebody has waited for over half a minute', async () => {
    const leave = await take();
    const all = [wait('oldest', 1), wait('newest', 3), wait('middle', 2), wait('no alarm')];
    now = 30_001;
    leave();
    await Promise.all(all);
    assert.deepEqual(order, ['newest', 'middle', 'oldest', 'no alarm']);
  });

  it('are waited for by a hundred at most; one more is told so at once', async () => {
    await take();
    const ending = new CancelToken();
    const waiting = Array.from({ length: 100 }, () => one.take(ending));
    await assert.rejects(take(), { code: 'VIDEO_BUSY' });
    ending.abort(new RvmError('CANCELLED', 'Enough.'));
    const results = await Promise.allSettled(waiting);
    assert.ok(results.every(({ status }) => status === 'rejected'));
  });

  it('are not waited for any more by one that was ended', async () => {
    const leave = await take();
    const ending = new CancelToken();
    const ended = one.take(ending);
    ending.abort(new RvmError('CANCELLED', 'Enough.'));
    await assert.rejects(ended, { code: 'CANCELLED' });
    leave();
    await take();
    assert.equal(one.taken, 1);
  });

  it('are given back once, however often that is said', async () => {
    const leave = await take();
    leave();
    leave();
    await take();
    assert.equal(one.taken, 1);
  });
});
