import assert from 'node:assert/strict';
import { CancelToken } from '../../lib/concurrency/signals';
import { ReadWriteLock } from '../../lib/concurrency/semaphore';
import { endOfTurn } from '../support/time/event-loop';

/** Waits for turns under names, which are noted when they come; gives them back when told. */
class Table {
  readonly came: string[] = [];
  readonly turns = new ReadWriteLock();
  readonly #leave = new Map<string, () => void>();

  wait(name: string, how: 'shared' | 'exclusive', rank = 0, abort = new CancelToken()): void {
    this.turns[how].acquire(abort, rank).then(
      (leave) => {
        this.came.push(name);
        this.#leave.set(name, leave);
      },
      () => this.came.push(`not ${name}`),
    );
  }

  async leave(...names: string[]): Promise<void> {
    for (const name of names) this.#leave.get(name)?.();
    await endOfTurn();
  }
}

describe('turns', () => {
  let table: Table;

  beforeEach(() => {
    table = new Table();
  });

  it('let all go together who do not want to be alone', async () => {
    for (const name of ['one', 'two', 'three']) table.wait(name, 'shared');
    await endOfTurn();
    assert.deepEqual(table.came, ['one', 'two', 'three']);
  });

  it('let one go alone when the others have left, before those who came later', async () => {
    for (const name of ['one', 'two']) table.wait(name, 'shared');
    table.wait('alone', 'exclusive');
    table.wait('later', 'shared');
    await table.leave();
    assert.deepEqual(table.came, ['one', 'two']);
    await table.leave('one');
    assert.deepEqual(table.came, ['one', 'two']);
    await table.leave('two');
    assert.deepEqual(table.came, ['one', 'two', 'alone']);
    await table.leave('alone');
    assert.deepEqual(table.came, ['one', 'two', 'alone', 'later']);
  });

  it('are given at once only where nobody waits', async () => {
    const { shared, exclusive } = table.turns;
    const leave = shared.tryAcquire(0);
    assert.notEqual(leave, undefined);
    assert.equal(exclusive.tryAcquire(0), undefined);
    table.wait('alone', 'exclusive');
    assert.equal(shared.tryAcquire(0), undefined);
    leave?.();
    await endOfTurn();
    assert.deepEqual(table.came, ['alone']);
    assert.equal(shared.tryAcquire(0), undefined);
    await table.leave('alone');
    assert.notEqual(exclusive.tryAcquire(0), undefined);
  });

  it('are given to lower ranks first', async () => {
    table.wait('first', 'exclusive');
    table.wait('other', 'exclusive', 2);
    table.wait('session', 'exclusive', 0);
    table.wait('urgent', 'exclusive', 1);
    await endOfTurn();
    for (const name of ['first', 'session', 'urgent']) await table.leave(name);
    assert.deepEqual(table.came, ['first', 'session', 'urgent', 'other']);
  });

  it('pass on where one that wanted to be alone gives up', async () => {
    const abort = new CancelToken();
    table.wait('one', 'shared');
    table.wait('alone', 'exclusive', 0, abort);
    table.wait('later', 'shared');
    await endOfTurn();
    abort.abort(new Error('given up'));
    await endOfTurn();
    assert.deepEqual(table.came, ['one', 'not alone', 'later']);
  });
});
