import assert from 'node:assert/strict';
import { killBackend, restartTwice } from '../support/cluster/deeds';
import { sharing, withCluster, scaled } from '../support/cluster/cluster';
import { report } from '../support/cluster/records';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';

/** How often each of the disturbances comes. */
const ROUNDS = scaled(1, 5);
/** Of each of the alarms under way between two of its events, in milliseconds. */
const PAUSE = 50;

describe('several instances whose database is disturbed', function () {
  this.timeout(800_000);
  let server: PostgresServer;

  before(async function () {
    needs(this, 'nginx', 'openssl', 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());

  async function disturbed(name: string, disturb: () => Promise<void>): Promise<void> {
    const connection = await server.database(name);
    await withCluster(sharing(connection, 'one', 'two', 'three'), async (cluster) => {
      cluster.sender.begin(PAUSE);
      for (let round = 0; round < ROUNDS; round += 1) {
        await cluster.progress();
        await disturb();
        await cluster.progress();
      }
      const tally = await cluster.tally();
      report(`${name}, ${ROUNDS} times`, tally);
      const { lost, doubled, again, refused, outOfOrder } = tally;
      assert.deepEqual([lost, doubled, again, refused, outOfOrder], [0, 0, 0, 0, 0]);
    });
  }

  it('lose and double nothing where it is restarted, in good order and at once', () =>
    disturbed('database restarted, fast and immediate', () => restartTwice(server)));

  it('lose and double nothing where one of its backends is killed, so that it recovers', () =>
    disturbed('backend killed', () => killBackend(server, 'backend killed')));
});
