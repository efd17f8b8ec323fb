import assert from 'node:assert/strict';
import { Clock } from '../../sandbox/world/clock';

describe('the clock of the sandbox', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = new Clock();
  });
  afterEach(() => clock.close());

  it('runs in an advance what became due, in order and each at its own time', async () => {
    const start = clock.now();
    const ran: [string, number][] = [];
    const note = (name: string) => () => void ran.push([name, Math.floor((clock.now() - start) / 1000)]);
    for (const [name, at] of Object.entries({ second: 20, first: 10, later: 40 }))
      clock.schedule(at * 1000, note(name));
    await clock.advance(30);
    assert.deepEqual(ran, [
      ['first', 10],
      ['second', 20],
    ]);
  });

  it('awaits what is under way before it moves on', async () => {
    let took = NaN;
    await new Promise<void>((resolve) => {
      clock.schedule(0, async () => {
        const startedAt = clock.now();
        resolve();
        await new Promise((done) => setTimeout(done, 20));
        took = clock.now() - startedAt;
      });
    });
    await clock.advance(3600);
    assert.ok(took < 3_600_000);
  });

  it('runs two advances one after the other', async () => {
    const start = clock.now();
    clock.schedule(50_000, () => new Promise((resolve) => setImmediate(resolve)));
    await Promise.all([clock.advance(100), clock.advance(200)]);
    assert.equal(Math.floor((clock.now() - start) / 1000), 300);
  });

  it('forgets a task that was taken back, and takes none once it is closed', async () => {
    const ran: string[] = [];
    clock.schedule(1000, () => void ran.push('taken back'))();
    await clock.advance(10);
    clock.close();
    clock.schedule(0, () => void ran.push('closed'));
    await clock.advance(10);
    assert.deepEqual(ran, []);
  });

  it('goes on after a task that failed', async () => {
    let ran = false;
    clock.schedule(1000, () => Promise.reject(new Error('of the task')));
    clock.schedule(2000, () => void (ran = true));
    await clock.advance(10);
    assert.ok(ran);
  });
});
