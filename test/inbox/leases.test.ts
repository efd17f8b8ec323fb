import assert from 'node:assert/strict';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { MovableTimers } from '../support/time/virtual-time';
import { Taker } from './samples';

/** In seconds. */
const DAY = 24 * 60 * 60;

describe('the lease of an event', () => {
  const timers = new MovableTimers();
  const stand = new SpillStand({});
  let inbox: HookedInbox;
  beforeEach(() => {
    ({ inbox } = stand);
    timers.start();
  });
  afterEach(() => timers.stop());

  const taker = (days: number): Taker =>
    new Taker(inbox, { handledWhen: 'settled', redeliverAfter: days * DAY * 1000 });
  const ended = (): number => inbox.questions.filter((name) => name === 'lapse').length;

  it('may be longer than a timer of Node.js can be set', async () => {
    const to = taker(60);
    const { deliveryId } = await to.takes();
    for (let day = 1; day < 60; day += 1) timers.advance(DAY);
    assert.equal(ended(), 0);
    for (let day = 60; day <= 61; day += 1) timers.advance(DAY);
    await to.came(2);
    assert.deepEqual([to.told[1], ended()], [[deliveryId, 2, 'lease'], 1]);
  });

  it('that ends in a pause has ended when that is over, unless the event was settled', async () => {
    const to = taker(1);
    const { deliveryId } = await to.takes();
    const settled = await to.takes();
    to.consumption.pause();
    timers.advance(2 * DAY);
    assert.equal(await inbox.settle(settled.deliveryId, { action: 'done' }), true);
    assert.equal(ended(), 0);
    to.consumption.resume();
    await to.came(3);
    assert.deepEqual([to.told[2], ended()], [[deliveryId, 2, 'lease'], 1]);
  });

  it('goes on through a pause that ends before it', async () => {
    const to = taker(1);
    await to.takes();
    to.consumption.pause();
    timers.advance(DAY / 2);
    to.consumption.resume();
    assert.equal(ended(), 0);
    timers.advance(DAY / 2);
    await to.came(2);
  });
});
