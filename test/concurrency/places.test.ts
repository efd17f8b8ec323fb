import assert from 'node:assert/strict';
import { CancelToken } from '../../lib/concurrency/signals';
import { Semaphore, acquireAll, tryAcquireAll } from '../../lib/concurrency/semaphore';
import { endOfTurn } from '../support/time/event-loop';

const REASON = new Error('given up');

/** Waits for a place under a name, which is noted when it is there; gives it back when told. */
class Line {
  readonly came: string[] = [];
  readonly #leave = new Map<string, () => void>();

  constructor(readonly places: Semaphore) {}

  wait(name: string, rank?: number, abort = new CancelToken()): void {
    this.places.acquire(abort, rank).then(
      (leave) => {
        this.came.push(name);
        this.#leave.set(name, leave);
      },
      () => this.came.push(`not ${name}`),
    );
  }

  async leave(name: string): Promise<void> {
    this.#leave.get(name)?.();
    await endOfTurn();
  }
}

describe('places', () => {
  it('are given at once while there are any, then in the order in which they were asked for', async () => {
    const line = new Line(new Semaphore(2));
    for (const name of ['one', 'two', 'three', 'four']) line.wait(name);
    await endOfTurn();
    assert.deepEqual(line.came, ['one', 'two']);
    assert.equal(line.places.waiting, 2);
    await line.leave('two');
    await line.leave('one');
    assert.deepEqual(line.came, ['one', 'two', 'three', 'four']);
    assert.equal(line.places.waiting, 0);
  });

  it('keep who waits in line where one leaves, and so starts another, at the same abort', async () => {
    const line = new Line(new Semaphore(1));
    const abort = new CancelToken();
    const leave = line.places.tryAcquire();
    abort.onAbort(() => leave?.());
    line.wait('started', 0, abort);
    line.wait('next');
    abort.abort(REASON);
    await endOfTurn();
    assert.deepEqual([line.came, line.places.waiting], [['started'], 1]);
    await line.leave('started');
    assert.deepEqual(line.came, ['started', 'next']);
  });

  it('are given to lower ranks first', async () => {
    const line = new Line(new Semaphore(1));
    line.wait('held');
    line.wait('last', 2);
    line.wait('middle', 1);
    line.wait('first', 0);
    await endOfTurn();
    for (const name of ['held', 'first', 'middle']) await line.leave(name);
    assert.deepEqual(line.came, ['held', 'first', 'middle', 'last']);
  });

  it('are left free, as many as said, for the ranks before', async () => {
    const places = new Semaphore(2, [0, 1]);
    assert.notEqual(places.tryAcquire(1), undefined);
    assert.equal(places.tryAcquire(1), undefined);
    assert.notEqual(places.tryAcquire(0), undefined);
    assert.equal(places.tryAcquire(0), undefined);
  });

  it('are not given to who has given up, and nothing of that is left in the line', async () => {
    const line = new Line(new Semaphore(1));
    const abort = new CancelToken();
    line.wait('held');
    line.wait('impatient', 0, abort);
    line.wait('patient');
    await endOfTurn();
    abort.abort(REASON);
    assert.equal(line.places.waiting, 1);
    await line.leave('held');
    assert.deepEqual(line.came, ['held', 'not impatient', 'patient']);
    assert.equal(line.places.waiting, 0);
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
