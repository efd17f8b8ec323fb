import assert from 'node:assert/strict';
import { stationOfEachTest } from '../support/service/scripted-station';
import { MovableClock, MovableTimers } from '../support/time/virtual-time';
import { eventually } from '../support/time/patience';

/** Seconds. */
const QUIET = 60;
/** The longest that it takes to ask: up to a quarter more, so that not all stations ask at one moment. */
const LONGEST = QUIET * 1.25;

describe('the sign of life of a service that nobody asks', () => {
  const clock = new MovableClock();
  const timers = new MovableTimers();
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(() => {
    clock.start();
    timers.start();
  });
  afterEach(() => {
    timers.stop();
    clock.stop();
  });

  /** A client that has been used once. */
  const watched = (seconds = QUIET) => station.connected({ signOfLifeMs: seconds * 1000 });

  function pass(seconds: number): void {
    clock.advance(seconds);
    timers.advance(seconds);
  }

  const asked = (): number => service.count('GET', '/system');

  it('is asked for once so much time is over, at /system alone', async () => {
    await watched();
    const before = service.seen.length;
    pass(LONGEST);
    await eventually(() => service.seen.length > before, 'the question');
    const seen = service.seen.slice(before).map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(seen, ['GET /system']);
  });

  it('is asked for again and again', async () => {
    await watched();
    for (let turn = 1; turn <= 3; turn += 1) {
      const before = asked();
      clock.advance(LONGEST);
      // The wait begins when the last answer is there, of which nothing tells.
      await eventually(() => {
        timers.advance(LONGEST);
        return asked() > before;
      }, 'the question');
    }
  });

  it('is not asked for while others ask', async () => {
    const client = await watched();
    const before = asked();
    for (let turn = 0; turn < 10; turn += 1) {
      pass(QUIET / 2);
      await client.listDevices({ fresh: true });
    }
    assert.equal(asked(), before);
  });

  it('is never asked for with 0', async () => {
    await watched(0);
    const before = asked();
    pass(24 * 3600);
    await station.client().listDevices();
    // That other client has logged in meanwhile, which takes two.
    assert.equal(asked(), before + 2);
  });

  it('is not asked for once the station is closed', async () => {
    const client = await watched();
    await client.close();
    const before = service.seen.length;
    pass(LONGEST);
    await station.client().listDevices();
    assert.equal(service.seen.length, before + 4);
  });

  it('is that of a session that works: one that is lost is renewed', async () => {
    const client = await watched();
    service.sessions.clear();
    pass(LONGEST);
    await eventually(() => service.count('POST', '/login') === 2, 'the login');
    await eventually(() => client.state.kind === 'connected', 'the session');
  });

  it('is tried for once: the state tells of the first failure', async () => {
    const client = await watched();
    const before = asked();
    service.on('GET', '/system', { status: 503 });
    const states: string[] = [];
    client.onState(({ kind }) => states.push(`${kind} after ${asked() - before}`));
    pass(LONGEST);
    await eventually(() => states.length > 0, 'the state');
    assert.equal(states[0], 'offline after 1');
  });

  it('logs in where the station has never been used', async () => {
    const client = station.client({ signOfLifeMs: QUIET * 1000 });
    await client.askForLife();
    assert.equal(client.state.kind, 'connected');
    assert.equal(service.count('GET', '/devices'), 0);
  });

  const taken = { status: 400, json: { code: 'InvalidApiKey' } };
  for (const [what, reply, kind, code] of [
    ['a service that went away', 'reset', 'offline', 'NETWORK'],
    ['a key that was taken back', taken, 'refused', 'API_KEY_REJECTED'],
  ] as const) {
    it(`tells of ${what}, with no call of anybody`, async () => {
      const client = await watched();
      service.behaviour = () => reply;
      pass(LONGEST);
      await eventually(() => client.state.kind === kind, 'the state');
      assert.equal('error' in client.state && client.state.error.code, code);
    });
  }
});
