import assert from 'node:assert/strict';
import path from 'node:path';
import { freeze, killAll, killAndStart, stop } from '../support/cluster/deeds';
import { sharing, withCluster, scaled } from '../support/cluster/cluster';
import { report, type Tally } from '../support/cluster/records';
import { TcpGate } from '../support/network/servers';
import { ROOT } from '../support/node-red/node-red';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';

const KILLS = scaled(3, 30);
/** Milliseconds without any instance. */
const ALL_DOWN = scaled(10_000, 60_000);
const FROZEN = 15_000;
/** Milliseconds after which an instance without a beat is dead, and until others must have its events. */
const TTL = 10_000;
const MOST_TO_TAKE_OVER = 15_000;
/** Of each of the alarms under way between two of its events, in milliseconds. */
const PAUSE = 100;
/** Of the instance that is frozen: it takes so many events at once. */
const WINDOW = 100;
/** What the database says to the instance that is frozen comes so late, so that there is always something under way. */
const LAG = 100;
const WITHOUT_FENCE = path.join(ROOT, 'test', 'support', 'cluster', 'without-fence.js');

describe('an instance of several', function () {
  this.timeout(scaled(800_000, 1_800_000));
  let server: PostgresServer;

  before(async function () {
    needs(this, 'nginx', 'openssl', 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());

  it(`loses nothing where it is killed, ${KILLS} times: others have its events within 15 s`, async () => {
    const connection = await server.database('killed');
    await withCluster(sharing(connection, 'one', 'two', 'three'), async (cluster) => {
      cluster.sender.begin(PAUSE);
      const times: number[] = [];
      for (let kill = 0; kill < KILLS; kill += 1) {
        const victim = cluster.instances[Math.floor(Math.random() * cluster.instances.length)];
        assert.ok(victim !== undefined);
        times.push(await killAndStart(cluster, victim));
      }
      const tally = await cluster.tally();
      report(`kill -9 of an instance, ${KILLS} times`, tally, { 'taken over within (ms)': longest(times) });
      assertNothingLost(tally);
      assert.equal(tally.outOfOrder, 0);
      // What holds up a busy machine holds up this as well, so that the best of a few counts.
      const counts = scaled(Math.min(...times), longest(times));
      assert.ok(counts <= MOST_TO_TAKE_OVER, `taken over after ${times.join(', ')} ms`);
    });
  });

  /** One instance stands still for longer than it may, with and without its fence. */
  async function frozen(name: string, preload: string[]): Promise<Tally> {
    const connection = await server.database(name);
    const gate = await TcpGate.start(server.port, { lag: LAG });
    const lagging = connection.replace(`:${server.port}`, `:${gate.port}`);
    const instances = [
      ...sharing(lagging, { name: 'one', window: WINDOW, preload }),
      ...sharing(connection, 'two', 'three'),
    ];
    let tally: Tally | undefined;
    try {
      await withCluster(instances, async (cluster) => {
        cluster.sender.begin(PAUSE / 4);
        await freeze(cluster, cluster.instance('one'), FROZEN);
        tally = await cluster.tally();
        report(name, tally);
      });
    } finally {
      await gate.close();
    }
    assert.ok(tally !== undefined);
    return tally;
  }

  it('hands over nothing that others have meanwhile, where it stood still for 15 s', async () => {
    const tally = await frozen('SIGSTOP for 15 s', []);
    assertNothingLost(tally);
  });

  it('would hand over what others have, without saying so, if it did not fence itself', async () => {
    const tally = await frozen('SIGSTOP for 15 s without self-fencing', [WITHOUT_FENCE]);
    assert.equal(tally.lost, 0);
    assert.ok(tally.unmarked > 0, 'the scenario would not show what the fence is for');
  });

  it('gives its events to others within a second where it is stopped', async () => {
    const connection = await server.database('stopped');
    await withCluster(sharing(connection, 'one', 'two'), async (cluster) => {
      cluster.sender.begin(PAUSE);
      const taken = await stop(cluster, cluster.instance('one'));
      const tally = await cluster.tally();
      report('clean stop of an instance', tally, { 'taken over within (ms)': Math.round(taken) });
      assertNothingLost(tally);
      // Within a second; on a busy machine, at least not for want of its beats.
      assert.ok(taken < TTL, `taken over after ${taken} ms`);
    });
  });

  it(`are all down for ${ALL_DOWN / 1000} s while the sender goes on, and nothing is lost`, async () => {
    const connection = await server.database('down');
    await withCluster(sharing(connection, 'one', 'two'), async (cluster) => {
      cluster.sender.begin(PAUSE);
      await cluster.progress();
      await killAll(cluster, ALL_DOWN);
      await cluster.progress();
      const tally = await cluster.tally();
      report(`all instances down for ${ALL_DOWN / 1000} s`, tally);
      assertNothingLost(tally);
      assert.equal(tally.outOfOrder, 0);
    });
  });
});

function assertNothingLost({ lost, unmarked, refused }: Tally): void {
  assert.deepEqual({ lost, unmarked, refused }, { lost: 0, unmarked: 0, refused: 0 });
}

function longest(times: readonly number[]): number {
  return Math.round(Math.max(...times));
}
