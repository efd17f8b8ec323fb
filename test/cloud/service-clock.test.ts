import assert from 'node:assert/strict';
import { ServiceClock } from '../../lib/cloud/session/service-health';

const DATE = { date: 'Thu, 26 Nov 2026 12:00:00 GMT' };

describe('the clock of the service', () => {
  let wall: number;
  let steady: number;
  let clock: ServiceClock;
  beforeEach(() => {
    [wall, steady] = [Date.parse(DATE.date) - 90_000, 0];
    clock = new ServiceClock(
      () => wall,
      () => steady,
    );
  });

  it('is as far ahead as its last answer says, and unknown before that and where a cache has answered', () => {
    assert.equal(clock.ahead, undefined);
    clock.note({ ...DATE, age: '7' });
    clock.note({ date: 'yesterday' });
    assert.equal(clock.ahead, undefined);
    clock.note(DATE);
    [wall, steady] = [wall + 3_600_000, 3_600_000];
    assert.equal(clock.ahead, 90_000);
  });

  it('is unknown once the clock of this machine was set, until the next answer', () => {
    clock.note(DATE);
    wall += 48 * 3_600_000;
    assert.equal(clock.ahead, undefined);
    clock.note(DATE);
    assert.equal(clock.ahead, 90_000 - 48 * 3_600_000);
  });
});
