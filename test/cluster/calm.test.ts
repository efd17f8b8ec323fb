import assert from 'node:assert/strict';
import { sharing, withCluster } from '../support/cluster/cluster';
import { report } from '../support/cluster/records';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';

const EVENTS = 5000;

describe('several instances, undisturbed', function () {
  this.timeout(800_000);
  let server: PostgresServer;

  before(async function () {
    needs(this, 'nginx', 'openssl', 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());

  it('deliver 5,000 events once each, those of an alarm in order', () =>
    withCluster(sharing(server.url(), 'one', 'two', 'three'), async (cluster) => {
      await cluster.sender.send(EVENTS);
      const tally = await cluster.tally();
      report('calm', tally);
      const { lost, doubled, again, outOfOrder, acknowledged } = tally;
      assert.deepEqual([acknowledged, lost, doubled, again, outOfOrder], [EVENTS, 0, 0, 0, 0]);
      const brought = new Set(cluster.sink.confirmations.map(({ instance }) => instance));
      assert.deepEqual([...brought].sort(), ['one', 'three', 'two']);
    }));
});
