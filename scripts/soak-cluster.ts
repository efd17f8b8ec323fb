import assert from 'node:assert/strict';
import fs from 'node:fs';
import { Cluster, type ClusterProcess, newerPackage, sharing } from '../test/support/cluster/cluster';
import { DatabasePair } from '../test/support/cluster/database-pair';
import {
  cutOff,
  freeze,
  killAll,
  killAndStart,
  killBackend,
  restartTwice,
  stop,
} from '../test/support/cluster/deeds';
import { report } from '../test/support/cluster/records';
import { TcpGate } from '../test/support/network/servers';
import { ROOT } from '../test/support/node-red/node-red';

/** Milliseconds between two events of one alarm. */
const PAUSE = 250;
/** Minimum of acknowledged events before and after each action. */
const BETWEEN = 100;
/** Number of messages that must be waiting while the standby is away, and attempts that each has made. */
const STUCK = 10;
const TRIES = 3;
const FROZEN = 15_000;
const LONGEST_DOWN = 60_000;
/** Name of the instance whose network can be cut. */
const GATED = 'one';

/** The cluster, its databases and its network, which the actions change. */
class SoakWorld {
  cluster!: Cluster;
  readonly pair: DatabasePair;
  readonly newer = newerPackage();
  /** Gates between the instance whose network can be cut and both database servers. */
  readonly #gates: TcpGate[] = [];

  private constructor(
    pair: DatabasePair,
    readonly chance: () => number,
  ) {
    this.pair = pair;
  }

  static async start(chance: () => number): Promise<SoakWorld> {
    const world = new SoakWorld(await DatabasePair.start(), chance);
    try {
      await world.#start();
      return world;
    } catch (error) {
      await world.end();
      throw error;
    }
  }

  get gates(): readonly TcpGate[] {
    return this.#gates;
  }

  any(): ClusterProcess {
    const { instances } = this.cluster;
    const found = instances[Math.floor(this.chance() * instances.length)];
    assert.ok(found !== undefined);
    return found;
  }

  async end(): Promise<void> {
    await this.cluster?.end();
    for (const gate of this.#gates) await gate.close();
    await this.pair.remove();
    fs.rmSync(this.newer, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const { connection } = this.pair;
    let gated = connection;
    for (const port of this.pair.ports) {
      const gate = await TcpGate.start(port);
      this.#gates.push(gate);
      gated = gated.replace(`:${port}`, `:${gate.port}`);
    }
    this.cluster = await Cluster.start([
      ...sharing(gated, { name: GATED, gated: true }),
      ...sharing(connection, 'two', 'three'),
    ]);
  }
}

const DEEDS: Record<string, (world: SoakWorld) => Promise<unknown>> = {
  'kill -9': (world) => killAndStart(world.cluster, world.any()),
  SIGSTOP: (world) => freeze(world.cluster, world.any(), FROZEN),
  'network cut': ({ cluster, gates }) => cutOff(cluster, cluster.instance(GATED), gates),
  'all down': ({ cluster, chance }) => killAll(cluster, chance() * LONGEST_DOWN),
  'database restarted': ({ pair }) => restartTwice(pair.primary),
  'backend killed': ({ pair }) => killBackend(pair.primary, 'postgres'),
  'standby promoted': async ({ pair, cluster }) => {
    await pair.failOver();
    await cluster.progress(BETWEEN);
    await pair.renewStandby();
  },
  'standby away': async ({ pair, cluster }) => {
    await pair.standby.end('immediate');
    await cluster.until(() => cluster.sender.unanswered(TRIES).length >= STUCK, 'messages that wait');
    await pair.standby.run();
  },
  'another version': async (world) => {
    const instance = world.any();
    await stop(world.cluster, instance);
    instance.usePackage(world.chance() < 0.5 ? world.newer : ROOT);
    await instance.start();
  },
};

/**
 * Runs random actions on three instances under load, on a database with a synchronous standby. After each action no event may
 * be lost, repeated without a mark, out of order or refused.
 * @param chance returns numbers from 0 (inclusive) to 1 (exclusive)
 */
export async function soakCluster(minutes: number, chance: () => number): Promise<void> {
  const names = Object.keys(DEEDS);
  const world = await SoakWorld.start(chance);
  const { cluster } = world;
  try {
    const until = performance.now() + minutes * 60_000;
    while (performance.now() < until) {
      const name = names[Math.floor(chance() * names.length)] ?? '';
      const from = performance.now();
      cluster.beginRound(PAUSE);
      await cluster.progress(BETWEEN);
      await DEEDS[name]?.(world);
      await cluster.progress(BETWEEN);
      const tally = await cluster.tally();
      report(name, tally, { seconds: Math.round((performance.now() - from) / 1000) });
      const { lost, unmarked, outOfOrder, refused } = tally;
      assert.deepEqual([lost, unmarked, outOfOrder, refused], [0, 0, 0, 0]);
    }
  } finally {
    await world.end();
  }
}
