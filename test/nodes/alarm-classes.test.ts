import assert from 'node:assert/strict';
import { settingsOf } from '../../nodes/rvm-alarm-state/alarm-node';

describe('the classes in a property of an alarm state', () => {
  for (const [text, classes] of [
    ['', []],
    ['security', ['security']],
    [' security ,health, ', ['security', 'health']],
    ['"Fire, water", security', ['Fire, water', 'security']],
  ] as const) {
    it(`in ${text || 'an empty one'} are ${classes.join(' and ') || 'none'}`, () => {
      assert.deepEqual(settingsOf({ classes: text }).classes, classes);
    });
  }
});
