import assert from 'node:assert/strict';
import {
  ProblemArchive,
  type TextPlace,
  ProblemCounter,
  UnseenProblems,
  type KeptProblem,
} from '../../lib/webhook/endpoint-health';

const AT = '2026-01-02T03:04:05.000Z';
const REFUSED: KeptProblem = { kind: 'unauthentic', reason: 'bad-token', count: 3, unseen: 2, lastTime: AT };
const DEAD: KeptProblem = { kind: 'dead-letter', reason: 'not-json', count: 1, unseen: 1, lastTime: AT };

class Place implements TextPlace {
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
}

describe('the problems of the last run', () => {
  it('are unseen again as far as nobody has seen them, and come after what was seen in this one', () => {
    const numbers = new ProblemCounter();
    const problems = new UnseenProblems(numbers);
    problems.restore([REFUSED, DEAD]);
    assert.deepEqual([problems.isUnproven, problems.count], [true, 1]);
    assert.deepEqual(problems.kept(), [REFUSED, DEAD]);
    problems.seen(numbers.last);
    assert.equal(problems.hasUnseen, false);
  });

  it('count together with those that came before they were read', () => {
    const problems = new UnseenProblems(new ProblemCounter());
    problems.refused('bad-token', { received: new Date('2026-01-03'), remoteAddress: undefined });
    problems.restore([REFUSED]);
    const lastTime = '2026-01-03T00:00:00.000Z';
    assert.deepEqual(problems.kept(), [{ ...REFUSED, count: 4, unseen: 3, lastTime }]);
  });

  it('stay while their webhook is not there yet, and go with it', async () => {
    const place = new Place({ here: [DEAD], later: [DEAD], gone: [DEAD] });
    const kept = new ProblemArchive(place, () => new Map([['here', [REFUSED]]]));
    await kept.loaded;
    assert.deepEqual(kept.take('here'), [DEAD]);
    kept.saveSoon();
    await kept.save();
    assert.deepEqual(kept.take('later'), [DEAD]);
    kept.dropLeft();
    kept.saveSoon();
    await kept.save();
    assert.deepEqual(
      place.written.map((text) => JSON.parse(text) as unknown),
      [{ later: [DEAD], gone: [DEAD], here: [REFUSED] }, { here: [REFUSED] }],
    );
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
    let end: (() => void) | undefined;
    place.lasts = new Promise<void>((resolve) => (end = resolve));
    kept.saveSoon();
    const first = kept.save();
    await kept.loaded.then(() => undefined);
    problems = [REFUSED];
    kept.saveSoon();
    const second = kept.save();
    end?.();
    await Promise.all([first, second]);
    assert.deepEqual(
      place.written.map((text) => JSON.parse(text) as unknown),
      [{ here: [DEAD] }, { here: [REFUSED] }],
    );
  });

  it('are not written where that fails, and later all the same', async () => {
    const place = new Place();
    const kept = new ProblemArchive(place, () => new Map([['here', [DEAD]]]));
    place.lasts = Promise.reject(new Error('no room'));
    kept.saveSoon();
    await kept.save();
    place.lasts = Promise.resolve();
    kept.saveSoon();
    await kept.save();
    assert.equal(place.written.length, 2);
  });
});
