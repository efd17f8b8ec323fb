import assert from 'node:assert/strict';
import { cutOff } from '../support/cluster/deeds';
import { sharing, withCluster } from '../support/cluster/cluster';
import { report } from '../support/cluster/records';
import { TcpGate } from '../support/network/servers';
import { PostgresServer } from '../support/postgres/postgres-server';
import { needs } from '../support/suite/programs';

/** Of each of the alarms under way between two of its events, in milliseconds. */
const PAUSE = 50;

describe('an instance whose network is cut', () => {
  let server: PostgresServer;

  before(async function () {
    needs(this, 'nginx', 'openssl', 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());

  it('leaves its events to the others, and says so of what it had handed over once it is back', async () => {
    const gate = await TcpGate.start(server.port);
    const direct = server.url();
    const gated = direct.replace(`:${server.port}`, `:${gate.port}`);
    const instances = [...sharing(gated, { name: 'one', gated: true }), ...sharing(direct, 'two', 'three')];
    try {
      await withCluster(instances, async (cluster) => {
        cluster.sender.begin(PAUSE);
        const taken = await cutOff(cluster, cluster.instance('one'), [gate]);
        const tally = await cluster.tally();
        report('network to one instance cut both ways', tally, {
          'taken over within (ms)': Math.round(taken),
        });
        const { lost, unmarked, refused } = tally;
        assert.deepEqual([lost, unmarked, refused], [0, 0, 0]);
      });
    } finally {
      await gate.close();
    }
  });
});
