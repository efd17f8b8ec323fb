import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { Deadlines } from '../../lib/inbox/queue/deadlines';

const DAY = 24 * 60 * 60 * 1000;

describe('a deadline', () => {
  const item = { name: 'item' };
  let isUp: object[];
  let deadlines: Deadlines<object>;

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    isUp = [];
    deadlines = new Deadlines((each) => isUp.push(each));
    deadlines.resume();
  });
  afterEach(() => mock.timers.reset());

  it('is up once, when its time has passed', () => {
    deadlines.set(item, 1000);
    mock.timers.tick(999);
    assert.deepEqual(isUp, []);
    mock.timers.tick(5000);
    assert.deepEqual(isUp, [item]);
  });

  it('may be further away than a timer of Node.js can be set', () => {
    deadlines.set(item, 60 * DAY);
    for (let day = 1; day < 60; day += 1) mock.timers.tick(DAY);
    assert.deepEqual(isUp, []);
    for (let day = 60; day <= 61; day += 1) mock.timers.tick(DAY);
    assert.deepEqual(isUp, [item]);
  });

  it('that is set anew is up then, and one that is cleared never', () => {
    deadlines.set(item, 1000);
    deadlines.set(item, 3000);
    const other = {};
    deadlines.set(other, 1000);
    deadlines.clear(other);
    mock.timers.tick(2999);
    assert.deepEqual(isUp, []);
    mock.timers.tick(1);
    assert.deepEqual(isUp, [item]);
  });

  it('that comes in a pause is up when the pause ends, unless it was cleared', () => {
    const other = {};
    deadlines.pause();
    deadlines.set(item, 1000);
    deadlines.set(other, 1000);
    mock.timers.tick(2000);
    deadlines.clear(other);
    assert.deepEqual(isUp, []);
    deadlines.resume();
    assert.deepEqual(isUp, [item]);
  });

  it('goes on through a pause that ends before it', () => {
    deadlines.set(item, 1000);
    deadlines.pause();
    mock.timers.tick(500);
    deadlines.resume();
    mock.timers.tick(500);
    assert.deepEqual(isUp, [item]);
  });
});
