import assert from 'node:assert/strict';
import { LiveEdge, type EdgeStep } from '../../../lib/video/view/player/playback.browser';

describe('a player at the edge of what is live', () => {
  let edge: LiveEdge;
  beforeEach(() => {
    edge = new LiveEdge();
  });

  /** Of what has come until second 100. */
  const step = (lag: number, rate = 1): EdgeStep => edge.step({ end: 100, playhead: 100 - lag, rate });

  for (const [what, lag, rate, expected] of [
    ['plays on at a lag of a quarter of a second', 0.25, 1, { rate: 1 }],
    ['plays on at less', 0.05, 1, { rate: 1 }],
    ['goes a little faster before the lag is half a second', 0.4, 1, { rate: 1.1 }],
    ['goes a little faster at nearly half a second', 0.49, 1, { rate: 1.1 }],
    ['goes faster until it has caught up', 0.3, 1.1, { rate: 1.1 }],
    ['does not swing', 0.3, 1, { rate: 1 }],
    ['goes on as fast as before once it has caught up', 0.24, 1.1, { rate: 1 }],
    ['jumps where it is a second behind', 1, 1, { jumpTo: 99.75 }],
    ['jumps where it is far behind', 30, 1, { jumpTo: 99.75 }],
    ['jumps where there is nothing yet', -5, 1, { jumpTo: 99.75 }],
  ] as const)
    it(what, () => assert.deepEqual(step(lag, rate), expected));

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
