import assert from 'node:assert/strict';
import { Client } from 'pg';
import { SETTINGS_STEP } from '../../../lib/inbox/postgres/calls/batch-settings';
import { tablesOf } from '../../../lib/inbox/postgres/calls/tables';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema } from '../../support/postgres/shared-stores';
import { incoming, StoreSession } from '../../support/postgres/store-session';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const ENDPOINT = incoming().endpoint;

/** The instance has another connection, and its former one is still at work on what it was asked there. */
describe('a batch whose answer nobody waits for any more', () => {
  let server: SharedServer;
  let former: StoreSession;
  let present: StoreSession;
  let holder: Client;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    former = await StoreSession.open(server.url(), { schema: newSchema() });
    present = await StoreSession.open(server.url(), { schema: former.schema, epoch: former.epoch });
    holder = new Client(server.url());
    await holder.connect();
  });
  afterEach(() => Promise.all([former.close(), present.close(), holder.end()]));

  async function waitingForLocks(count: number): Promise<void> {
    const wait = async (): Promise<boolean> => {
      const rows = await server.sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      return rows.length >= count;
    };
    await eventually(wait, `${count} waits for locks`);
  }

  it('is over before what the instance has leased is looked for', async () => {
    const { deliveryId } = await former.call('accept', { message: incoming(), lease: 'no' });
    await holder.query(`BEGIN; LOCK TABLE ${tablesOf(former.schema).wish}`);
    const leasing = former.batch(
      ['lease', { endpoint: ENDPOINT, limit: 1, health: 1, ordered: true }],
      ['ping', undefined],
    );
    await waitingForLocks(1);
    const leased = present.call('leased', ENDPOINT);
    await Promise.race([leased, waitingForLocks(2)]);
    await holder.query('COMMIT');
    await leasing;
    assert.deepEqual(await leased, [deliveryId]);
  });

  it('keeps nothing locked for long where the rest of it never comes', async () => {
    const { client } = former.session;
    await client.query('BEGIN');
    await former.session.run(SETTINGS_STEP.statement);
    const { rows } = await client.query('SHOW idle_in_transaction_session_timeout');
    assert.deepEqual(rows, [{ idle_in_transaction_session_timeout: '10s' }]);
    await client.query('ROLLBACK');
  });
});
