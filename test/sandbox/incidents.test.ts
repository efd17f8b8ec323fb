import assert from 'node:assert/strict';
import { Incidents } from '../../sandbox/world/incidents';
import { visitOf } from '../../sandbox/scene/packs';

describe('the incidents of the sandbox', () => {
  it('are known by camera, the last one first, by their second', () => {
    const incidents = new Incidents();
    incidents.add('one', 5_999);
    incidents.add('two', 7_000);
    incidents.add('one', 9_000);
    assert.deepEqual([incidents.of('one'), incidents.of('three')], [[9, 5], []]);
  });

  it('are forgotten where there are too many, first those of the camera whose last one is the longest ago', () => {
    const incidents = new Incidents();
    incidents.add('quiet', 1000);
    for (let i = 0; i < 5000; i++) incidents.add('busy', i * 1000);
    assert.deepEqual([incidents.of('quiet'), incidents.of('busy').length], [[], 5000]);
  });

  it('are seen from the second before the alarm on, for ten seconds', () => {
    const seen = [98, 99, 100, 108, 109].map((second) => visitOf(100, second));
    assert.deepEqual(seen, [undefined, 0, 1, 9, undefined]);
  });
});
