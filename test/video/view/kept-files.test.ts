import assert from 'node:assert/strict';
import { RvmError } from '../../../lib/error';
import { MediaCache } from '../../../lib/video/view/visits';
import { MovableTimers } from '../../support/time/virtual-time';

/** A file whose making the test ends. */
class Making {
  calls = 0;
  aborted = 0;
  finish: (file: Buffer) => void = () => undefined;
  fail: (error: Error) => void = () => undefined;

  readonly make = (signal: AbortSignal): Promise<Buffer> => {
    this.calls += 1;
    signal.addEventListener('abort', () => (this.aborted += 1));
    return new Promise((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
  };
}

const NEVER = new AbortController().signal;

describe('a finished file of a view', () => {
  const timers = new MovableTimers();
  beforeEach(() => timers.start());
  afterEach(() => timers.stop());

  it('is made no further once all who wait for it have gone, and anew for the next', async () => {
    const [files, making] = [new MediaCache(), new Making()];
    const [one, other] = [new AbortController(), new AbortController()];
    const asked = [one, other].map(({ signal }) => files.get('clip', making.make, signal));
    const gone = Promise.allSettled(asked);
    one.abort(new RvmError('CANCELLED', 'gone'));
    await assert.rejects(asked[0] ?? Promise.resolve(), /gone/);
    assert.equal(making.aborted, 0);
    other.abort(new RvmError('CANCELLED', 'gone'));
    await gone;
    assert.equal(making.aborted, 1);
    const next = files.get('clip', making.make, NEVER);
    making.finish(Buffer.from('again'));
    assert.equal((await next).toString(), 'again');
    assert.equal(making.calls, 2);
  });

  it('is kept until a minute after its last use', async () => {
    const [files, making] = [new MediaCache(), new Making()];
    const asked = files.get('clip', making.make, NEVER);
    making.finish(Buffer.from('video'));
    await asked;
    timers.advance(50);
    await files.get('clip', making.make, NEVER);
    timers.advance(50);
    await new Promise(setImmediate);
    assert.ok(files.has('clip'));
    timers.advance(11);
    await new Promise(setImmediate);
    assert.ok(!files.has('clip'));
  });

  for (const [title, sizes, kept] of [
    ['makes room for newer ones, the oldest first', [45, 45, 45], [false, true, true]],
    ['is kept where it alone has more bytes than are kept in all', [50, 500], [false, true]],
  ] as const)
    it(title, async () => {
      const files = new MediaCache(undefined, 100);
      for (const [place, size] of sizes.entries())
        await files.get(`${place}`, async () => Buffer.alloc(size), NEVER);
      const have = sizes.map((_, place) => files.has(`${place}`));
      assert.deepEqual(have, kept);
    });

  it('is made no further, and not kept, at the end', async () => {
    const [files, making] = [new MediaCache(), new Making()];
    const asked = files.get('clip', making.make, NEVER);
    files.close();
    making.fail(new Error('ended'));
    await assert.rejects(asked, /ended/);
    assert.equal(making.aborted, 1);
    assert.ok(!files.has('clip'));
  });
});
