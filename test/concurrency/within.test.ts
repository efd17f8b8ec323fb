import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { TimeoutBreaker, withTimeout } from '../../lib/concurrency/timers';
import { blockFor } from '../support/time/event-loop';

describe('work within a time', () => {
  it('gives its outcome, or undefined where it is not there in time', async () => {
    assert.equal(await withTimeout(Promise.resolve(7), 1000), 7);
    assert.equal(await withTimeout(new Promise(() => undefined), 1), undefined);
    await assert.rejects(withTimeout(Promise.reject(new Error('failed')), 1000), /failed/);
  });

  it('takes what had come while this process was busy, and is looked at only after the timers', async () => {
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => port2.once('message', resolve));
    // Begun in a turn of its own: the time is up when it ends.
    const outcome = new Promise((resolve, reject) => {
      setImmediate(() => {
        withTimeout(answer, 10).then(resolve, reject);
        port1.postMessage('stored');
        blockFor(50);
      });
    });
    assert.equal(await outcome, 'stored');
    port1.close();
  });

  it('may be late already, which is no warning of Node', async () => {
    const warn = mock.method(process, 'emitWarning', () => undefined);
    assert.equal(await withTimeout(new Promise(() => undefined), -359), undefined);
    const warnings = warn.mock.callCount();
    warn.mock.restore();
    assert.equal(warnings, 0);
  });
});

describe('a breaker for work that hangs', () => {
  it('waits for no other work until what hung has ended, and tells when it has', async () => {
    let closed = 0;
    const breaker = new TimeoutBreaker(() => (closed += 1));
    const hanging = Promise.withResolvers<number>();
    assert.deepEqual(await breaker.within(Promise.resolve(7), 1000), { give: 7 });
    assert.equal(await breaker.within(hanging.promise, 1), undefined);
    assert.equal(await breaker.within(Promise.resolve(7), 1_000_000), undefined);
    assert.deepEqual([breaker.isOpen, closed], [true, 0]);
    hanging.reject(new Error('failed'));
    await assert.rejects(hanging.promise);
    assert.deepEqual([breaker.isOpen, closed], [false, 1]);
    assert.deepEqual(await breaker.within(Promise.resolve(7), 1000), { give: 7 });
  });
});
