import assert from 'node:assert/strict';
import { Clock } from '../../sandbox/world/clock';

describe('the clock of the sandbox', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = new Clock();
  });
  afterEach(() => clock.close());

  it('shows the real time until it is advanced', async () => {
    const between = (shown: number, from: number, ahead: number): boolean =>
      shown >= from + ahead && shown <= Date.now() + ahead;
    const before = Date.now();
    assert.ok(between(clock.now(), before, 0));
    await clock.advance(3600);
    assert.ok(between(clock.now(), before, 3_600_000));
  });

  it('runs in an advance what became due, in order and each at its own time', async () => {
    const start = clock.now();
    const ran: [string, number][] = [];
    const note = (name: string) => () => void ran.push([name, Math.floor((clock.now() - start) / 1000)]);
    clock.schedule(20_000, note('second'));
    clock.schedule(10_000, note('first'));
    clock.schedule(40_000, note('later'));
    await clock.advance(30);
    assert.deepEqual(ran, [
      ['first', 10],
      ['second', 20],
    ]);
  });

  it('runs in the same advance what a task schedules', async () => {
    let runs = 0;
    const again = (): void => {
      runs++;
      clock.schedule(60_000, again);
    };
    clock.schedule(60_000, again);
    await clock.advance(610);
    assert.equal(runs, 10);
  });

  it('awaits each task before the next one', async () => {
    const order: string[] = [];
    clock.schedule(1000, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('slow');
    });
    clock.schedule(2000, () => void order.push('next'));
    await clock.advance(5);
    assert.deepEqual(order, ['slow', 'next']);
  });

  it('awaits what is under way before it moves on', async () => {
    let startedAt = 0;
    let endedAt = 0;
    const started = new Promise<void>((resolve) => {
      clock.schedule(0, async () => {
        startedAt = clock.now();
        resolve();
        await new Promise((done) => setTimeout(done, 20));
        endedAt = clock.now();
      });
    });
    await started;
    await clock.advance(3600);
    assert.ok(endedAt - startedAt < 3_600_000);
  });

  it('runs by itself in real time', async () => {
    await new Promise<void>((resolve) => {
      clock.schedule(5, resolve);
    });
  });

  it('runs two advances one after the other', async () => {
    const start = clock.now();
    await Promise.all([clock.advance(100), clock.advance(200)]);
    assert.equal(Math.floor((clock.now() - start) / 1000), 300);
  });

  it('forgets a task that was taken back', async () => {
    const takeBack = clock.schedule(1000, () => assert.fail('ran'));
    takeBack();
    await clock.advance(10);
  });

  it('goes on after a task that failed', async () => {
    let ran = false;
    clock.schedule(1000, () => Promise.reject(new Error('of the task')));
    clock.schedule(2000, () => {
      ran = true;
    });
    await clock.advance(10);
    assert.ok(ran);
  });

  it('takes no task any more once it is closed', async () => {
    clock.close();
    clock.schedule(0, () => assert.fail('ran'));
    await clock.advance(10);
  });
});
