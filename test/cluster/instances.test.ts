import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {
  type Cluster,
  newerPackage,
  type Plan,
  scaled,
  sharing,
  withCluster,
} from '../support/cluster/cluster';
import {
  cutOff,
  freeze,
  killAll,
  killAndStart,
  killBackend,
  restartTwice,
  stop,
} from '../support/cluster/deeds';
import { type ConfirmingSink, report, type Tally } from '../support/cluster/records';
import { TcpGate } from '../support/network/servers';
import { ROOT } from '../support/node-red/node-red';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

const EVENTS = 5000;
const KILLS = scaled(3, 30);
/** How often the database is disturbed. */
const ROUNDS = scaled(1, 5);
/** Milliseconds without any instance. */
const ALL_DOWN = scaled(10_000, 60_000);
const FROZEN = 15_000;
/** Milliseconds after which an instance without a beat is dead, and until others must have its events. */
const TTL = 10_000;
const MOST_TO_TAKE_OVER = 15_000;
/** Of each of the alarms under way between two of its events, in milliseconds. */
const PAUSE = 50;
/** Of the instance that is frozen: it takes so many events at once. */
const WINDOW = 100;
/** What the database says to the instance that is frozen comes so late, so that there is always something under way. */
const LAG = 100;
const WITHOUT_FENCE = path.join(ROOT, 'test', 'support', 'cluster', 'without-fence.js');

interface Scenario {
  /** Also of its database. */
  name: string;
  /** Of the instance `one`, between which and the database there is a gate. */
  first?: Plan;
  lag?: number;
  others?: string[];
  pause?: number;
  /** @returns what else is to be reported */
  happens: (cluster: Cluster, gate: TcpGate) => Promise<Record<string, number> | void>;
}

describe('several instances on one database', function () {
  this.timeout(scaled(800_000, 1_800_000));
  let server: PostgresServer;

  before(async function () {
    needs(this, 'nginx', 'openssl', 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());

  /** The sender goes on until all has happened, unless its pause is 0. */
  async function tallyOf({ name, first, lag = 0, pause = PAUSE, ...scenario }: Scenario): Promise<Tally> {
    const connection = await server.database(name);
    const gate = await TcpGate.start(server.port, { lag });
    const gated = connection.replace(`:${server.port}`, `:${gate.port}`);
    const others = scenario.others ?? ['two', 'three'];
    const instances = [
      ...sharing(first === undefined ? connection : gated, first ?? 'one'),
      ...sharing(connection, ...others),
    ];
    let tally: Tally | undefined;
    try {
      await withCluster(instances, async (cluster) => {
        if (pause > 0) cluster.sender.begin(pause);
        const further = await scenario.happens(cluster, gate);
        tally = await cluster.tally();
        report(name, tally, further ?? {});
      });
    } finally {
      await gate.close();
    }
    return tally ?? assert.fail();
  }

  function assertNone(tally: Tally, ...faults: (keyof Tally)[]): void {
    for (const fault of faults) assert.equal(tally[fault], 0, `${fault}: ${tally[fault]}`);
  }

  it('deliver 5,000 events once each, those of an alarm in order', async () => {
    let sink: ConfirmingSink | undefined;
    const happens = async (cluster: Cluster): Promise<void> => {
      ({ sink } = cluster);
      await cluster.sender.send(EVENTS);
    };
    const tally = await tallyOf({ name: 'calm', pause: 0, happens });
    assert.equal(tally.acknowledged, EVENTS);
    assertNone(tally, 'lost', 'doubled', 'again', 'outOfOrder');
    const brought = new Set(sink?.confirmations.map(({ instance }) => instance));
    assert.deepEqual([...brought].sort(), ['one', 'three', 'two']);
  });

  for (const [title, name, disturb] of [
    [
      'it is restarted, in good order and at once',
      'database restarted, fast and immediate',
      () => restartTwice(server),
    ],
    [
      'one of its backends is killed, so that it recovers',
      'backend killed',
      () => killBackend(server, 'backend killed'),
    ],
  ] as const)
    it(`lose and double nothing where ${title}`, async () => {
      const happens = async (cluster: Cluster): Promise<void> => {
        for (let round = 0; round < ROUNDS; round += 1) {
          await cluster.progress();
          await disturb();
          await cluster.progress();
        }
      };
      assertNone(await tallyOf({ name, happens }), 'lost', 'doubled', 'again', 'refused', 'outOfOrder');
    });

  it(`lose nothing where one is killed, ${KILLS} times: others have its events within 15 s`, async () => {
    const times: number[] = [];
    const tally = await tallyOf({
      name: 'kill -9 of an instance',
      pause: 2 * PAUSE,
      happens: async (cluster) => {
        for (let kill = 0; kill < KILLS; kill += 1) {
          const victim = cluster.instances[Math.floor(Math.random() * cluster.instances.length)];
          times.push(await killAndStart(cluster, victim ?? assert.fail()));
        }
        return { kills: KILLS, 'taken over within (ms)': Math.round(Math.max(...times)) };
      },
    });
    assertNone(tally, 'lost', 'unmarked', 'refused', 'outOfOrder');
    // What holds up a busy machine holds up this as well, so that the best of a few counts.
    const counts = scaled(Math.min(...times), Math.max(...times));
    assert.ok(counts <= MOST_TO_TAKE_OVER, `taken over after ${times.join(', ')} ms`);
  });

  /** One instance stands still for longer than it may, with and without its fence. */
  const frozen = (name: string, preload: string[]): Promise<Tally> =>
    tallyOf({
      name,
      first: { name: 'one', window: WINDOW, preload },
      lag: LAG,
      pause: PAUSE / 2,
      happens: (cluster) => freeze(cluster, cluster.instance('one'), FROZEN),
    });

  it('hand over nothing that others have meanwhile, where one stood still for 15 s', async () =>
    assertNone(await frozen('SIGSTOP for 15 s', []), 'lost', 'unmarked', 'refused'));

  it('would hand over what others have, without saying so, if that did not fence itself', async () => {
    const tally = await frozen('SIGSTOP for 15 s without self-fencing', [WITHOUT_FENCE]);
    assertNone(tally, 'lost');
    assert.ok(tally.unmarked > 0, 'the scenario would not show what the fence is for');
  });

  it('have the events of one within a second where it is stopped', async () => {
    let taken = Infinity;
    const tally = await tallyOf({
      name: 'clean stop of an instance',
      others: ['two'],
      pause: 2 * PAUSE,
      happens: async (cluster) => {
        taken = await stop(cluster, cluster.instance('one'));
        return { 'taken over within (ms)': Math.round(taken) };
      },
    });
    assertNone(tally, 'lost', 'unmarked', 'refused');
    // Within a second; on a busy machine, at least not for want of its beats.
    assert.ok(taken < TTL, `taken over after ${taken} ms`);
  });

  it(`are all down for ${ALL_DOWN / 1000} s while the sender goes on, and nothing is lost`, async () => {
    const tally = await tallyOf({
      name: `all instances down for ${ALL_DOWN / 1000} s`,
      others: ['two'],
      pause: 2 * PAUSE,
      happens: async (cluster) => {
        await cluster.progress();
        await killAll(cluster, ALL_DOWN);
        await cluster.progress();
      },
    });
    assertNone(tally, 'lost', 'unmarked', 'refused', 'outOfOrder');
  });

  it('have the events of one whose network is cut, which says so of what it had handed over', async () => {
    const tally = await tallyOf({
      name: 'network to one instance cut both ways',
      first: { name: 'one', gated: true },
      happens: async (cluster, gate) => {
        const taken = await cutOff(cluster, cluster.instance('one'), [gate]);
        return { 'taken over within (ms)': Math.round(taken) };
      },
    });
    assertNone(tally, 'lost', 'unmarked', 'refused');
  });

  it('lose, double and disorder nothing while they are upgraded one after the other, with two versions of the schema', async () => {
    const name = 'rolling upgrade';
    const newer = newerPackage();
    const version = async (): Promise<number> => {
      const [row] = await server.sql(`SELECT value FROM rvm.meta WHERE name = 'schema_version'`, name);
      return Number(row?.value);
    };
    const happens = async (cluster: Cluster): Promise<void> => {
      await cluster.progress();
      const former = await version();
      for (const instance of cluster.instances) {
        await stop(cluster, instance);
        instance.usePackage(newer);
        await instance.start();
        await eventually(async () => (await version()) === former + 1, 'the step of the schema');
        await cluster.progress();
      }
    };
    try {
      const tally = await tallyOf({ name, happens });
      assertNone(tally, 'lost', 'doubled', 'unmarked', 'outOfOrder', 'refused');
    } finally {
      fs.rmSync(newer, { recursive: true, force: true });
    }
  });
});
