import assert from 'node:assert/strict';
import type { Problem } from '../../lib/webhook/problem';
import { ProblemCounter, UnseenProblems } from '../../lib/webhook/endpoint-health';

const AT = new Date('2026-01-02T03:04:05Z');

function problem(change: Partial<Problem> = {}): Problem {
  const receivedTime = AT.toISOString();
  return {
    kind: 'dead-letter',
    reason: 'not-json',
    station: 'north',
    stationName: 'North',
    receivedTime,
    count: 1,
    ...change,
  };
}

describe('problems that nobody has seen', () => {
  let numbers: ProblemCounter;
  let problems: UnseenProblems;
  let told: number;
  beforeEach(() => {
    numbers = new ProblemCounter();
    problems = new UnseenProblems(numbers);
    told = 0;
    problems.watch(() => (told += 1));
  });
  const refuse = (reason: 'no-signature' | 'bad-signature' | 'bad-token' | 'raw-body-missing'): void =>
    problems.refused(reason, { received: AT, remoteAddress: '192.0.2.7' });

  for (const reason of ['no-signature', 'bad-signature', 'bad-token'] as const) {
    it(`are messages that were refused as ${reason}, apart from the count of the others`, () => {
      refuse(reason);
      refuse(reason);
      assert.equal(problems.isUnproven, true);
      assert.equal(problems.count, 0);
      assert.deepEqual(problems.tallies(), [
        { kind: 'unauthentic', reason, count: 2, lastTime: AT.toISOString(), lastAddress: '192.0.2.7' },
      ]);
      assert.equal(told, 2);
    });
  }

  it('are no refusals where a body was missing: no phrase is to blame', () => {
    refuse('raw-body-missing');
    assert.equal(problems.hasUnseen, false);
  });

  it('count each request that one of them stands for, but of what is blocked the one', () => {
    problems.add(problem({ count: 3 }));
    problems.add(problem({ kind: 'blocked', reason: 'window', count: 500 }));
    assert.equal(problems.count, 4);
  });

  it('tell when one came last, however long ago its event came', () => {
    const now = new Date('2026-01-02T09:00:00Z');
    problems.add(problem(), now);
    assert.equal(problems.tallies()[0]?.lastTime, now.toISOString());
  });

  it('are cured by a good message, refusals and others', () => {
    refuse('bad-token');
    problems.add(problem());
    problems.accepted(undefined);
    assert.equal(problems.hasUnseen, false);
    assert.deepEqual(problems.tallies(), []);
  });

  it('are cured of refusals alone by a message that was proven and is a problem itself', () => {
    refuse('bad-token');
    problems.add(problem());
    problems.accepted(problem({ kind: 'conflict', reason: null }));
    assert.equal(problems.isUnproven, false);
    assert.equal(problems.count, 1);
  });

  for (const reason of ['attempts', 'rejected', 'lease', 'restart', 'window'] as const) {
    it(`are not cured of ${reason}, which lies behind the inbox, by a good message`, () => {
      problems.add(problem({ reason }));
      problems.accepted(undefined);
      assert.equal(problems.count, 1);
      problems.seen(numbers.last);
      assert.equal(problems.tallies().length, 1);
      problems.accepted(undefined);
      assert.deepEqual(problems.tallies(), []);
    });
  }

  it('are not cured by a self-test, which has the phrase that stands here', () => {
    refuse('bad-signature');
    problems.accepted(problem({ kind: 'self-test', reason: null }));
    assert.equal(problems.isUnproven, true);
  });

  it('are still listed once a person has seen them, and are news when they come again', () => {
    refuse('bad-signature');
    problems.add(problem());
    problems.seen(numbers.last);
    assert.equal(problems.hasUnseen, false);
    assert.equal(problems.tallies().length, 2);
    refuse('bad-signature');
    assert.equal(problems.isUnproven, true);
    assert.equal(problems.count, 0);
  });

  it('stay unseen where they came after what the person has seen', () => {
    problems.add(problem());
    const seen = numbers.last;
    refuse('bad-token');
    problems.seen(seen);
    assert.equal(problems.count, 0);
    assert.equal(problems.isUnproven, true);
  });

  it('tell of one phrase for two stations once each time it begins, not while a station has none yet', () => {
    const told = [
      problems.sharePhrase('', true),
      problems.sharePhrase('North, South', false),
      problems.sharePhrase('North, South', true),
      // A deploy: the sandbox has not given its phrase yet.
      problems.sharePhrase('', false),
      problems.sharePhrase('North, South', true),
      problems.sharePhrase('', true),
      problems.sharePhrase('North, South', true),
    ];
    assert.deepEqual(told, [false, true, false, false, false, false, true]);
  });
});
