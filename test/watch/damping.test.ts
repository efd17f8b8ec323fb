import assert from 'node:assert/strict';
import { Debouncer } from '../../lib/watch/debounce';
import type { FindingKind, Observation } from '../../lib/watch/findings';

const MINUTE = 60_000;

describe('what is told of what comes and goes', () => {
  let now: number;
  let damping: Debouncer;
  beforeEach(() => {
    now = 0;
    const clock = (): number => now;
    damping = new Debouncer(clock, clock);
  });

  const sighting = (what: FindingKind): Observation => {
    return { id: what, what, station: null, sentence: what, values: {} };
  };

  /** What stands after a look that sees these. */
  function stands(seen: readonly FindingKind[], unsure: string[] = [], told: string[] = []): string[] {
    const look = damping.damp({ seen: seen.map(sighting), unsure }, (id) => told.includes(id));
    return look.seen.map(({ id }) => id);
  }

  /** Looks each second for so long. */
  function looks(ms: number, seen: readonly FindingKind[]): string[] {
    let last: string[] = [];
    for (const until = now + ms; now < until; now += 1000) last = stands(seen);
    return last;
  }

  it('is a finding at once, since the moment in which it was seen', () => {
    now = 5000;
    const { seen } = damping.damp({ seen: [sighting('silent')], unsure: [] }, () => false);
    assert.equal(seen[0]?.since, new Date(5000).toISOString());
  });

  const away = ['service-unreachable'] as const;

  it('is a service that is out of reach once it has been for a quarter of a minute, and no request that was lost', () => {
    looks(5000, away);
    looks(1000, []);
    assert.deepEqual(looks(14_000, away), []);
    assert.deepEqual(looks(3000, away), away);
  });

  it('is a service out of reach at once where that was told before a restart', () =>
    assert.deepEqual(stands(away, [], [...away]), away));

  it('is over a moment after it is, but stays while nobody knows', () => {
    stands(['silent']);
    now += MINUTE;
    assert.deepEqual(stands([], ['silent']), ['silent']);
    now += 1000;
    assert.deepEqual(stands([]), ['silent']);
    now += 5000;
    assert.deepEqual(stands([]), []);
  });

  it('is told at most a dozen times in an hour, however often it comes and goes', () => {
    let changes = 0;
    let before: string[] = [];
    for (const until = 60 * MINUTE; now < until; now += 1000) {
      const after = stands(Math.floor(now / 10_000) % 2 === 0 ? ['not-proven'] : []);
      if (after.length !== before.length) changes += 1;
      before = after;
    }
    assert.ok(changes <= 12, `${changes}`);
  });

  it('is over as soon as ever where it has not come back for half an hour', () => {
    for (let times = 0; times < 5; times += 1) {
      stands(['not-proven']);
      looks(10 * MINUTE, []);
    }
    looks(31 * MINUTE, []);
    stands(['not-proven']);
    assert.deepEqual(looks(7000, []), []);
  });
});
