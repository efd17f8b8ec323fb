import assert from 'node:assert/strict';
import type { Problem } from '../../lib/webhook/problem';
import { ProblemArchive, ProblemCounter, UnseenProblems } from '../../lib/webhook/unseen-problems';
import type { StoredProblem, TextStorage } from '../../lib/webhook/unseen-problems';

const AT = new Date('2026-01-02T03:04:05Z');
const LAST = { lastTime: AT.toISOString() };

function problem(change: Partial<Problem> = {}): Problem {
  const usual = { station: 'north', stationName: 'North', receivedTime: LAST.lastTime, count: 1 };
  return { kind: 'dead-letter', reason: 'not-json', ...usual, ...change };
}

describe('problems that nobody has seen', () => {
  let numbers: ProblemCounter;
  let problems: UnseenProblems;
  beforeEach(() => {
    numbers = new ProblemCounter();
    problems = new UnseenProblems(numbers);
  });
  const refuse = (reason: 'no-signature' | 'bad-signature' | 'bad-token' | 'raw-body-missing'): void =>
    problems.refused(reason, { received: AT, remoteAddress: '192.0.2.7' });
  /** Whether any is a refusal, and how many others there are. */
  const unseen = (): [boolean, number] => [problems.isUnproven, problems.count];

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

  for (const [what, kind, left] of [
    ['are cured by a good message, refusals and others', undefined, [false, 0]],
    ['are cured of refusals alone by a message that is proven and a problem', 'conflict', [false, 1]],
    ['are not cured by a self-test, which has the phrase that stands here', 'self-test', [true, 1]],
  ] as const)
    it(what, () => {
      refuse('bad-token');
      problems.add(problem());
      problems.accepted(kind && problem({ kind, reason: null }));
      assert.deepEqual([unseen(), problems.tallies().length], [left, Number(left[0]) + left[1]]);
    });

  for (const reason of ['attempts', 'rejected', 'lease', 'restart', 'window'] as const)
    it(`are not cured of ${reason}, which lies behind the inbox, by a good message`, () => {
      problems.add(problem({ reason }));
      problems.accepted(undefined);
      assert.equal(problems.count, 1);
      problems.seen(numbers.last);
      assert.equal(problems.tallies().length, 1);
      problems.accepted(undefined);
      assert.deepEqual(problems.tallies(), []);
    });

  it('are still listed once a person has seen them, and are news when they come again', () => {
    refuse('bad-signature');
    problems.add(problem());
    problems.seen(numbers.last);
    assert.deepEqual([problems.hasUnseen, problems.tallies().length], [false, 2]);
    refuse('bad-signature');
    assert.deepEqual(unseen(), [true, 0]);
  });

  it('tell of one phrase for two stations once each time it begins, not while a station has none yet', () => {
    const both = 'North, South';
    for (const [names, isKnown, isTold] of [
      ['', true, false],
      [both, false, true],
      [both, true, false],
      // A deploy: the sandbox has not given its phrase yet.
      ['', false, false],
      [both, true, false],
      ['', true, false],
      [both, true, true],
    ] as const)
      assert.equal(problems.sharePhrase(names, isKnown), isTold);
  });
});

const REFUSED: StoredProblem = { kind: 'unauthentic', reason: 'bad-token', count: 3, unseen: 2, ...LAST };
const DEAD: StoredProblem = { kind: 'dead-letter', reason: 'not-json', count: 1, unseen: 1, ...LAST };

class Place implements TextStorage {
  written: string[] = [];
  /** Until when a write lasts. */
  lasts: Promise<unknown> = Promise.resolve();

  constructor(private readonly text?: object | string) {}

  async read(): Promise<string | undefined> {
    return typeof this.text === 'object' ? JSON.stringify(this.text) : this.text;
  }

  async write(text: string): Promise<void> {
    this.written.push(text);
    await this.lasts;
  }

  get documents(): unknown[] {
    return this.written.map((text): unknown => JSON.parse(text));
  }
}

describe('the problems of the last run', () => {
  it('count together with those that came before they were read', () => {
    const problems = new UnseenProblems(new ProblemCounter());
    problems.refused('bad-token', { received: new Date('2026-01-03'), remoteAddress: undefined });
    problems.restore([REFUSED]);
    const lastTime = '2026-01-03T00:00:00.000Z';
    assert.deepEqual(problems.snapshot(), [{ ...REFUSED, count: 4, unseen: 3, lastTime }]);
  });

  it('stay while their webhook is not there yet, and go with it', async () => {
    const place = new Place({ here: [DEAD], later: [DEAD], gone: [DEAD] });
    const kept = new ProblemArchive(place, () => new Map([['here', [REFUSED]]]));
    const save = (): Promise<unknown> => {
      kept.saveSoon();
      return kept.save();
    };
    await kept.loaded;
    assert.deepEqual(kept.take('here'), [DEAD]);
    await save();
    assert.deepEqual(kept.take('later'), [DEAD]);
    kept.dropLeft();
    await save();
    const here = [REFUSED];
    assert.deepEqual(place.documents, [{ later: [DEAD], gone: [DEAD], here }, { here }]);
  });

  for (const text of ['', '[]', '{"here":7}', '{"here":[{"kind":"unauthentic","count":"1"}]}', '{'])
    it(`are none where what was kept is ${JSON.stringify(text)}`, async () => {
      const kept = new ProblemArchive(new Place(text), () => new Map());
      await kept.loaded;
      assert.deepEqual(kept.take('here'), []);
    });

  it('are written one after the other, however slow the disk is, and only where something has changed', async () => {
    const place = new Place();
    let problems = [DEAD];
    const kept = new ProblemArchive(place, () => new Map([['here', problems]]));
    await kept.save();
    assert.deepEqual(place.written, []);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    place.lasts = promise;
    kept.saveSoon();
    const first = kept.save();
    await kept.loaded.then(() => undefined);
    problems = [REFUSED];
    kept.saveSoon();
    const second = kept.save();
    resolve(undefined);
    await Promise.all([first, second]);
    assert.deepEqual(place.documents, [{ here: [DEAD] }, { here: [REFUSED] }]);
  });

  it('are not written where that fails, and later all the same', async () => {
    const place = new Place();
    const kept = new ProblemArchive(place, () => new Map([['here', [DEAD]]]));
    for (const lasts of [Promise.reject<void>(new Error('no room')), Promise.resolve()]) {
      place.lasts = lasts;
      kept.saveSoon();
      await kept.save();
    }
    assert.equal(place.written.length, 2);
  });
});
