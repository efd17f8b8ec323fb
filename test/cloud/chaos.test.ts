import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { STATION_TIMING } from '../../lib/cloud/timing';
import type { RvmErrorCode } from '../../lib/error';
import { ChaosRun, type Outcome } from '../support/chaos/chaos-run';
import { ChaosWorld } from '../support/chaos/chaos-world';
import { CONNECT_FAULTS, EXCHANGE_FAULTS } from '../support/chaos/faulty-proxy';
import { GATEWAY_FAULTS } from '../support/chaos/stumbling-gateway';
import { eventually, soon } from '../support/time/patience';
import { failure } from '../support/service/scripted-station';
import { TimerWatch } from '../support/time/virtual-time';

/** More of them for a hunt: `RVM_CHAOS_CALLS=100000`. */
const CALLS = Number(process.env['RVM_CHAOS_CALLS'] ?? 2000);
/** Part of the titles, so that a run that fails tells it: `RVM_CHAOS_SEED=4711` makes the same choices again. */
const SEED = Number(process.env['RVM_CHAOS_SEED'] ?? randomInt(1_000_000));
/** Calls with faults, and as many without, in turn. */
const PHASE = 200;
/** The same where requests go one at a time. */
const ROTATING = 60;
const TIMING = {
  ...STATION_TIMING,
  retryMs: 20,
  longestRetryMs: 500,
  probeMs: 100,
  longestProbeMs: 500,
  longestAwaitedProbeMs: 500,
};
/** What faults of the network and of a gateway explain. */
const EXPLAINED: readonly RvmErrorCode[] = ['NETWORK', 'TIMEOUT', 'HTTP_ERROR', 'RATE_LIMITED'];

describe(`chaos between client and service (seed ${SEED})`, () => {
  describe(`${CALLS} calls of all kinds through a network full of faults`, () => {
    const watch = new TimerWatch();
    const unhandled: string[] = [];
    const onUnhandled = (reason: unknown): unknown => unhandled.push(String(reason));
    /** What is wrong, and no more: the outcomes of all calls would be taken for memory that the client keeps. */
    const late: string[] = [];
    const strange: string[] = [];
    const undisturbed: string[] = [];
    let disturbed = 0;
    let successes = 0;
    const heaps: number[] = [];
    const sockets = openSockets();
    let world: ChaosWorld;
    let run: ChaosRun;

    before(async function () {
      this.timeout(600_000 + CALLS * 120);
      process.on('unhandledRejection', onUnhandled);
      process.on('uncaughtException', onUnhandled);
      watch.start();
      world = await ChaosWorld.start({ seed: SEED, timing: TIMING, settings: { deviceRefreshMs: 300 } });
      run = await ChaosRun.of(world, SEED);
      for (let done = 0; done < CALLS; done += 2 * PHASE) {
        world.disturb();
        await world.loseSession();
        noteDisturbed(await run.many(PHASE, true));
        await world.calm();
        // In the turns that follow the client learns which of its connections were reset.
        for (let turn = 0; turn < 5; turn += 1) await nextTurn();
        await eventually(() => world.client.state.kind === 'connected', 'the client to recover by itself');
        await world.loseSession();
        noteUndisturbed(await run.many(PHASE, false));
        run.endRound();
        heaps.push(heapInUse());
      }
    });

    after(async () => {
      watch.stop();
      await world.close();
      process.off('unhandledRejection', onUnhandled);
      process.off('uncaughtException', onUnhandled);
    });

    function noteDisturbed(outcomes: readonly Outcome[]): void {
      disturbed += outcomes.length;
      successes += outcomes.filter(isRight).length;
      strange.push(
        ...outcomes.filter((outcome) => !isRight(outcome) && !isExplained(outcome)).map(described),
      );
      late.push(...outcomes.filter(({ isLate }) => isLate).map(described));
    }

    function noteUndisturbed(outcomes: readonly Outcome[]): void {
      undisturbed.push(...outcomes.filter((outcome) => !isRight(outcome)).map(described));
      late.push(...outcomes.filter(({ isLate }) => isLate).map(described));
    }

    it('each call ends in time, and at once where its caller gives up', () => {
      assert.deepEqual(late, []);
    });

    it('what succeeds has the result that was asked for', () => {
      assert.deepEqual(run.wrong, []);
    });

    it('what fails does so with an error that the faults explain', () => {
      assert.deepEqual(strange, []);
    });

    it('most succeed all the same', () => {
      // On a quiet machine nine of ten; a busy one adds time-outs of its own.
      assert.ok(successes > disturbed / 2, `${successes} of ${disturbed}`);
    });

    it('without faults all succeed, from the moment on at which the client has recovered by itself', () => {
      assert.deepEqual(undisturbed, []);
    });

    it('no command reaches the service more often than it was called for, and what succeeds has reached it', () => {
      assert.deepEqual(run.miscounted, []);
    });

    it('there was a fault of each kind', () => {
      for (const fault of [...CONNECT_FAULTS, ...EXCHANGE_FAULTS])
        assert.ok(world.proxy.counts[fault] > 0, fault);
      for (const fault of GATEWAY_FAULTS) assert.ok(world.gateway.counts[fault] > 0, fault);
    });

    it('memory does not grow with the number of calls', () => {
      // In the first round caches fill and code is compiled.
      const [start = 0, end = 0] = [heaps[1], heaps.at(-1)];
      assert.ok(end < start + 10_000_000, heaps.join(', '));
    });

    it('nothing is thrown or rejected that nobody handles', () => {
      assert.deepEqual(unhandled, []);
    });

    it('after close no socket and no timer is left', async () => {
      await world.client.close();
      assert.deepEqual(watch.pending, []);
      // By themselves they would end after some seconds.
      await soon(eventually(() => world.proxy.connections === 0, 'the end of the connections'));
      await failure(world.client.listDevices(), 'CANCELLED');
      await world.close();
      await eventually(() => openSockets() === sockets, 'the end of all sockets');
    });
  });

  it('cookies that rotate are no question of rights, whatever becomes of the answers', async function () {
    this.timeout(600_000);
    const rotating = { seed: SEED, timing: TIMING, settings: {}, rotates: true };
    const world = await ChaosWorld.start(rotating);
    try {
      const run = await ChaosRun.of(world, SEED);
      world.disturb();
      const disturbed = await run.many(ROTATING, true);
      await world.calm();
      await eventually(() => world.client.state.kind === 'connected', 'the client to recover by itself');
      const undisturbed = await run.many(ROTATING, false);
      const strange = disturbed.filter((outcome) => !isRight(outcome) && !isExplained(outcome));
      const failed = undisturbed.filter((outcome) => !isRight(outcome));
      assert.deepEqual([...strange, ...failed].map(described), []);
      assert.deepEqual([...run.wrong, ...run.miscounted], []);
    } finally {
      await world.close();
    }
  });

  it('close in the middle of it ends every call at once and leaves nothing behind', async () => {
    const watch = new TimerWatch();
    watch.start();
    const world = await ChaosWorld.start({ seed: SEED, timing: TIMING, settings: { deviceRefreshMs: 100 } });
    try {
      const run = await ChaosRun.of(world, SEED);
      await run.many(40, false);
      world.disturb();
      const under = Promise.all(Array.from({ length: 200 }, () => run.one(false)));
      await sleep(150);
      const outcomes = await soon(world.client.close().then(() => under));
      assert.ok(outcomes.some(({ code }) => code === 'CANCELLED'));
      const strange = outcomes.filter(
        (outcome) => !isRight(outcome) && !isExplained(outcome) && outcome.code !== 'CANCELLED',
      );
      assert.deepEqual([...strange.map(described), ...run.wrong, ...run.miscounted], []);
      assert.deepEqual(watch.pending, []);
      assert.equal(world.client.state.kind, 'idle');
      // By themselves they would end after some seconds.
      await soon(eventually(() => world.proxy.connections === 0, 'the end of the connections'));
    } finally {
      watch.stop();
      await world.close();
    }
  });
});

function isRight({ deed, code }: Outcome): boolean {
  return code === deed.fails;
}

function isExplained({ code, patience }: Outcome): boolean {
  if (code === 'CANCELLED') return patience < Infinity;
  return code !== undefined && EXPLAINED.includes(code);
}

function described({ deed, code, ms }: Outcome): string {
  return `${deed.name}: ${code ?? 'success'} after ${Math.round(ms)} ms`;
}

/** Sockets and servers of this process. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => /TCP|TLS|Pipe/.test(kind)).length;
}

function heapInUse(): number {
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc()');
  return process.memoryUsage().heapUsed;
}
