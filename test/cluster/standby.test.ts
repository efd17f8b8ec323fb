import assert from 'node:assert/strict';
import { type AlarmSender, report } from '../support/cluster/records';
import { DatabasePair } from '../support/cluster/database-pair';
import { sharing, withCluster } from '../support/cluster/cluster';
import { needs } from '../support/suite/programs';

/** Of each of the alarms under way between two of its events, in milliseconds. */
const PAUSE = 50;
/** So many messages are sent so often, to show that no repeat is acknowledged either. */
const STUCK = 10;
const TRIES = 3;

describe('several instances whose database has a synchronous standby', () => {
  let pair: DatabasePair;

  beforeEach(async function () {
    needs(this, 'nginx', 'openssl', 'postgres', 'pg_basebackup');
    pair = await DatabasePair.start();
  });
  afterEach(() => pair?.remove());

  /** Ids of acknowledged messages that the present primary does not have. */
  async function missing({ acknowledged }: AlarmSender): Promise<string[]> {
    const ids = acknowledged.map(({ messageId }) => messageId);
    const rows = await pair.primary.sql('SELECT id FROM rvm.message');
    const there = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !there.has(id));
  }

  it('have all that was acknowledged where the primary is killed and the standby promoted', () =>
    withCluster(sharing(pair.connection, 'one', 'two', 'three'), async (cluster) => {
      cluster.sender.begin(PAUSE);
      await cluster.progress(200);
      await pair.failOver();
      const before = cluster.sender.acknowledged.length;
      await cluster.progress();
      const tally = await cluster.tally();
      const lacking = await missing(cluster.sender);
      report('primary killed, synchronous standby promoted', tally, {
        'acknowledged before': before,
        'of all acknowledged missing on the new primary': lacking.length,
      });
      const { lost, unmarked, refused } = tally;
      assert.deepEqual([lacking.length, lost, unmarked, refused], [0, 0, 0, 0]);
    }));

  it('acknowledge nothing that one disk alone has while the standby is away', () =>
    withCluster(sharing(pair.connection, 'one', 'two', 'three'), async (cluster) => {
      const { sender } = cluster;
      sender.begin(PAUSE);
      await cluster.progress(200);
      await pair.standby.end('immediate');
      // What was on its way when the standby went is sent again, and is a repeat for the primary.
      const isStuck = (): boolean => sender.unanswered(TRIES).length >= STUCK;
      await cluster.until(isStuck, 'messages that are sent again and again');
      const before = sender.acknowledged.length;
      await pair.failOver();
      const lacking = await missing(sender);
      await cluster.progress();
      const tally = await cluster.tally();
      report('standby away while accepting', tally, {
        'acknowledged before': before,
        'of these missing on the standby': lacking.length,
      });
      const { lost, refused } = tally;
      assert.deepEqual([lacking.length, lost, refused], [0, 0, 0]);
    }));
});
