import assert from 'node:assert/strict';
import { edgeStep, type EdgeStep } from '../../../lib/video/view/player/live-edge.browser';

describe('a player at the edge of what is live', () => {
  /** At 15 pictures a second, with what has come until second 100. */
  const step = (lag: number, changes = {}): EdgeStep =>
    edgeStep({ end: 100, interval: 1 / 15, playhead: 100 - lag, rate: 1, ...changes });

  it('plays on at a lag of a quarter of a second', () => {
    assert.deepEqual(step(0.25), { rate: 1 });
    assert.deepEqual(step(0.05), { rate: 1 });
  });

  it('goes a little faster before the lag is half a second', () => {
    assert.deepEqual(step(0.4), { rate: 1.1 });
    assert.deepEqual(step(0.49), { rate: 1.1 });
  });

  it('goes faster until it has caught up, and does not swing', () => {
    assert.deepEqual(step(0.3, { rate: 1.1 }), { rate: 1.1 });
    assert.deepEqual(step(0.3, { rate: 1 }), { rate: 1 });
    assert.deepEqual(step(0.24, { rate: 1.1 }), { rate: 1 });
  });

  it('jumps where it is far behind, or where there is nothing yet', () => {
    assert.deepEqual(step(1), { jumpTo: 99.75 });
    assert.deepEqual(step(30), { jumpTo: 99.75 });
    assert.deepEqual(step(-5), { jumpTo: 99.75 });
  });

  it('leaves a picture a second the time of its pictures', () => {
    assert.deepEqual(step(1.2, { interval: 1 }), { rate: 1 });
    assert.deepEqual(step(9, { interval: 1 }), { jumpTo: 98.5 });
  });
});
