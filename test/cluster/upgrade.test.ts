import assert from 'node:assert/strict';
import fs from 'node:fs';
import { stop } from '../support/cluster/deeds';
import { newerPackage, sharing, withCluster } from '../support/cluster/cluster';
import { report } from '../support/cluster/records';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

/** Of each of the alarms under way between two of its events, in milliseconds. */
const PAUSE = 50;

describe('several instances that are upgraded one after the other', () => {
  let server: PostgresServer;
  let newer: string;

  before(async function () {
    needs(this, 'nginx', 'openssl', 'postgres');
    server = await PostgresServer.start();
    newer = newerPackage();
  });
  after(async () => {
    await server?.remove();
    if (newer !== undefined) fs.rmSync(newer, { recursive: true, force: true });
  });

  const version = async (): Promise<number> => {
    const [row] = await server.sql(`SELECT value FROM rvm.meta WHERE name = 'schema_version'`);
    return Number(row?.value);
  };

  it('lose, double and disorder nothing while two versions of the schema are in use', () =>
    withCluster(sharing(server.url(), 'one', 'two', 'three'), async (cluster) => {
      cluster.sender.begin(PAUSE);
      await cluster.progress();
      const former = await version();
      for (const instance of cluster.instances) {
        await stop(cluster, instance);
        instance.usePackage(newer);
        await instance.start();
        await eventually(async () => (await version()) === former + 1, 'the step of the schema');
        await cluster.progress();
      }
      const tally = await cluster.tally();
      report('rolling upgrade', tally);
      const { lost, doubled, unmarked, outOfOrder, refused } = tally;
      assert.deepEqual([lost, doubled, unmarked, outOfOrder, refused], [0, 0, 0, 0, 0]);
    }));
});
