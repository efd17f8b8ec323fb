import assert from 'node:assert/strict';
import { LiveEdge, type EdgeStep } from '../../../lib/video/view/player/playback.browser';

describe('a player at the edge of what is live', () => {
  let edge: LiveEdge;
  beforeEach(() => {
    edge = new LiveEdge();
  });

  /** Of what has come until second 100. */
  const step = (lag: number, rate = 1): EdgeStep => edge.step({ end: 100, playhead: 100 - lag, rate });

  it('plays on at a lag of a quarter of a second', () => {
    assert.deepEqual(step(0.25), { rate: 1 });
    assert.deepEqual(step(0.05), { rate: 1 });
  });

  it('goes a little faster before the lag is half a second', () => {
    assert.deepEqual(step(0.4), { rate: 1.1 });
    assert.deepEqual(step(0.49), { rate: 1.1 });
  });

  it('goes faster until it has caught up, and does not swing', () => {
    assert.deepEqual(step(0.3, 1.1), { rate: 1.1 });
    assert.deepEqual(step(0.3, 1), { rate: 1 });
    assert.deepEqual(step(0.24, 1.1), { rate: 1 });
  });

  it('jumps where it is far behind, or where there is nothing yet', () => {
    assert.deepEqual(step(1), { jumpTo: 99.75 });
    assert.deepEqual(step(30), { jumpTo: 99.75 });
    assert.deepEqual(step(-5), { jumpTo: 99.75 });
  });

  it('stays further behind where it stood still, and comes nearer again once that has not been for long', () => {
    for (let count = 0; count < 3; count++) edge.stood();
    assert.deepEqual(step(0.5, 1.1), { rate: 1 });
    assert.deepEqual(step(1), { rate: 1.1 });
    edge.passed(600);
    assert.deepEqual(step(0.5), { rate: 1.1 });
  });

  it('stays no more than a second and a half behind, however often it stood still', () => {
    for (let count = 0; count < 100; count++) edge.stood();
    assert.deepEqual(step(9), { jumpTo: 98.5 });
  });
});
