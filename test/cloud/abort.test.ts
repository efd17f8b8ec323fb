import assert from 'node:assert/strict';
import { CancelToken } from '../../lib/concurrency/signals';
import { Operation, SharedOperation } from '../../lib/cloud/operation';
import { RvmError } from '../../lib/error';

const ascending = (one: number, other: number): number => one - other;
const FIRST = new Error('first');

describe('an abort', () => {
  it('tells all who listen, once and with the first reason, and those who come too late at once', () => {
    const abort = new CancelToken();
    const told: unknown[] = [];
    for (let listener = 0; listener < 2; listener += 1) abort.onAbort((reason) => told.push(reason));
    abort.abort(FIRST);
    abort.abort(new Error('second'));
    abort.onAbort((reason) => told.push(reason));
    assert.deepEqual(told, [FIRST, FIRST, FIRST]);
  });

  it('tells those who still listen, in whatever order the others have left', () => {
    for (const leaving of [[0], [1], [2], [0, 1], [1, 0], [2, 0], [0, 2], [1, 2], [0, 1, 2], [2, 1, 0]]) {
      const abort = new CancelToken();
      const told: number[] = [];
      const leave = [0, 1, 2].map((listener) => abort.onAbort(() => told.push(listener)));
      // However often that is said.
      for (const listener of [...leaving, ...leaving]) leave[listener]?.();
      abort.abort(FIRST);
      const staying = [0, 1, 2].filter((listener) => !leaving.includes(listener));
      assert.deepEqual(told.toSorted(ascending), staying, `${leaving.join(', ')} have left`);
    }
  });

  it('tells all, also where one of them ends the listening of another', () => {
    const abort = new CancelToken();
    const told: string[] = [];
    abort.onAbort(() => {
      told.push('one');
      leave();
    });
    const leave = abort.onAbort(() => told.push('other'));
    abort.onAbort(() => told.push('last'));
    abort.abort(FIRST);
    assert.deepEqual(told, ['one', 'other', 'last']);
  });
});

describe('an operation', () => {
  it('passes its end on to a hint, but not to what it shares with others', async () => {
    const caller = new AbortController();
    const operation = new Operation({ signal: caller.signal });
    const shared = new SharedOperation(operation);
    await operation.hint((hint) => {
      caller.abort();
      assert.throws(() => hint.checkAlive(), { code: 'CANCELLED' });
      return Promise.resolve();
    });
    shared.checkAlive();
  });

  it('goes on where its hint has no time left, or is not tried again', async () => {
    const operation = new Operation({ deadlineMs: 60_000 });
    const passing = new RvmError('NETWORK', 'It may pass.');
    for (const once of [false, true]) {
      const hinting = operation.hint((hint) => {
        const shared = new SharedOperation(new Operation());
        const joined = shared.join(hint, new Promise(() => undefined));
        assert.equal(shared.mayWait(passing, 30_000), true);
        return joined;
      }, once);
      await assert.rejects(hinting, passing);
      operation.checkAlive();
    }
    operation.end();
  });
});
