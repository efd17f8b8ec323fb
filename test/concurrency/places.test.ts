import assert from 'node:assert/strict';
import { CancelToken } from '../../lib/concurrency/signals';
import { acquireAll, ReadWriteLock, Semaphore, tryAcquireAll } from '../../lib/concurrency/semaphore';
import { endOfTurn } from '../support/time/event-loop';

const REASON = new Error('given up');

/** Those who wait for a place, each under a name that is noted when the place is theirs; they give it back when told. */
class Waiting {
  readonly came: string[] = [];
  readonly #leave = new Map<string, () => void>();

  wait(name: string, places: Pick<Semaphore, 'acquire'>, rank = 0, abort = new CancelToken()): void {
    places.acquire(abort, rank).then(
      (leave) => {
        this.came.push(name);
        this.#leave.set(name, leave);
      },
      () => this.came.push(`not ${name}`),
    );
  }

  async leave(...names: string[]): Promise<void> {
    for (const name of names) {
      this.#leave.get(name)?.();
      await endOfTurn();
    }
  }
}

let line: Waiting;
const begin = (): void => void (line = new Waiting());

describe('places', () => {
  beforeEach(begin);

  it('are given at once while there are any, then in the order in which they were asked for', async () => {
    const places = new Semaphore(2);
    for (const name of ['one', 'two', 'three', 'four']) line.wait(name, places);
    await endOfTurn();
    assert.deepEqual([line.came, places.waiting], [['one', 'two'], 2]);
    await line.leave('two', 'one');
    assert.deepEqual([line.came, places.waiting], [['one', 'two', 'three', 'four'], 0]);
  });

  it('keep who waits in line where one leaves, and so starts another, at the same abort', async () => {
    const places = new Semaphore(1);
    const abort = new CancelToken();
    const leave = places.tryAcquire();
    abort.onAbort(() => leave?.());
    line.wait('started', places, 0, abort);
    line.wait('next', places);
    abort.abort(REASON);
    await endOfTurn();
    assert.deepEqual([line.came, places.waiting], [['started'], 1]);
    await line.leave('started');
    assert.deepEqual(line.came, ['started', 'next']);
  });

  for (const [what, places] of [
    ['places', () => new Semaphore(1)],
    ['turns alone', () => new ReadWriteLock().exclusive],
  ] as const)
    it(`that are ${what} are given to lower ranks first`, async () => {
      const made = places();
      line.wait('held', made);
      for (const [name, rank] of Object.entries({ last: 2, first: 0, middle: 1 }))
        line.wait(name, made, rank);
      await endOfTurn();
      await line.leave('held', 'first', 'middle');
      assert.deepEqual(line.came, ['held', 'first', 'middle', 'last']);
    });

  it('are left free, as many as said, for the ranks before', () => {
    const places = new Semaphore(2, [0, 1]);
    const given = [1, 1, 0, 0].map((rank) => places.tryAcquire(rank) !== undefined);
    assert.deepEqual(given, [true, false, true, false]);
  });

  it('are not given to who has given up, and nothing of that is left in the line', async () => {
    const places = new Semaphore(1);
    const abort = new CancelToken();
    line.wait('held', places);
    line.wait('impatient', places, 0, abort);
    line.wait('patient', places);
    await endOfTurn();
    abort.abort(REASON);
    assert.equal(places.waiting, 1);
    await line.leave('held');
    assert.deepEqual([line.came, places.waiting], [['held', 'not impatient', 'patient'], 0]);
  });

  it('are taken of all or of none', async () => {
    const [one, other] = [new Semaphore(1), new Semaphore(1)];
    const leave = other.tryAcquire();
    assert.equal(tryAcquireAll([one, other], 0), undefined);
    const abort = new CancelToken();
    const waiting = acquireAll([one, other], 0, abort);
    await endOfTurn();
    assert.equal(one.tryAcquire(), undefined);
    abort.abort(REASON);
    await assert.rejects(waiting, REASON);
    leave?.();
    const leaveAll = tryAcquireAll([one, other], 0);
    assert.deepEqual([one.tryAcquire(), other.tryAcquire()], [undefined, undefined]);
    leaveAll?.();
    assert.notEqual(one.tryAcquire(), undefined);
  });
});

describe('turns', () => {
  beforeEach(begin);

  it('let those go together who do not want to be alone, then one alone, before those who came later', async () => {
    const { shared, exclusive } = new ReadWriteLock();
    for (const name of ['one', 'two']) line.wait(name, shared);
    line.wait('alone', exclusive);
    line.wait('later', shared);
    for (const [leaves, came] of [
      ['nobody', ['one', 'two']],
      ['one', ['one', 'two']],
      ['two', ['one', 'two', 'alone']],
      ['alone', ['one', 'two', 'alone', 'later']],
    ] as const) {
      await line.leave(leaves);
      assert.deepEqual(line.came, came, `once ${leaves} has left`);
    }
  });

  it('are given at once only where nobody waits', async () => {
    const { shared, exclusive } = new ReadWriteLock();
    const leave = shared.tryAcquire(0);
    assert.notEqual(leave, undefined);
    assert.equal(exclusive.tryAcquire(0), undefined);
    line.wait('alone', exclusive);
    assert.equal(shared.tryAcquire(0), undefined);
    leave?.();
    await endOfTurn();
    assert.deepEqual([line.came, shared.tryAcquire(0)], [['alone'], undefined]);
    await line.leave('alone');
    assert.notEqual(exclusive.tryAcquire(0), undefined);
  });

  it('pass on where one that wanted to be alone gives up', async () => {
    const { shared, exclusive } = new ReadWriteLock();
    const abort = new CancelToken();
    line.wait('one', shared);
    line.wait('alone', exclusive, 0, abort);
    line.wait('later', shared);
    await endOfTurn();
    abort.abort(REASON);
    await endOfTurn();
    assert.deepEqual(line.came, ['one', 'not alone', 'later']);
  });
});
