import assert from 'node:assert/strict';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore } from '../../../lib/inbox/postgres/postgres-store';
import { SharedInbox } from '../../../lib/inbox/shared-inbox';
import { newSchema } from '../../support/postgres/stores';
import { SharedServer } from '../../support/postgres/shared-server';
import { needs } from '../../support/suite/programs';
import { eventually, PATIENCE } from '../../support/time/patience';
import { allSettled, proven, Taker } from '../samples';

const DAY = 24 * 60 * 60 * 1000;

describe('two instances of which one does not take what the other takes', () => {
  let server: SharedServer;
  let strict: SharedInbox;
  let open: SharedInbox;

  before(async function () {
    needs(this, 'postgres', 'initdb');
    server = await SharedServer.use();
  });
  after(() => server?.remove());

  beforeEach(async () => {
    const schema = newSchema();
    [strict, open] = [instance(schema), instance(schema)];
    const areOpen = (): boolean => [strict, open].every((inbox) => inbox.state().durable === true);
    await eventually(areOpen, 'the opening of the inboxes');
  });
  afterEach(() => Promise.all([strict.close(), open.close()]));

  function instance(schema: string): SharedInbox {
    const settings = readConnection(server.url(), { schema, tls: 'off', instanceName: '' });
    return new SharedInbox({
      open: (news) => new PostgresStore({ settings }, news),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      patience: PATIENCE,
    });
  }

  it('go by the one that has accepted an event: for both it is filtered, or for neither', async () => {
    const takers = [new Taker(strict), new Taker(open)];
    const here = proven({}, { filteredBy: ['cameras'] });
    const { filteredBy: _filteredBy, ...there } = here;
    const { deliveryId } = await strict.accept(here);
    assert.deepEqual(await open.accept(there), { outcome: 'repeat', deliveryId });
    const taken = proven();
    const other = await open.accept(taken);
    assert.equal((await strict.accept({ ...taken, filteredBy: ['cameras'] })).outcome, 'repeat');
    await allSettled(open);
    assert.deepEqual(
      takers.flatMap(({ deliveries }) => deliveries.map((delivery) => delivery.deliveryId)),
      [other.deliveryId],
    );
    for (const inbox of [strict, open]) {
      const { messages } = await inbox.list({ state: 'filtered', limit: 9 });
      assert.deepEqual(
        messages.map((row) => row.deliveryId),
        [deliveryId],
      );
    }
  });

  it('deliver one after all by whichever of them has a flow for it', async () => {
    const { deliveryId } = await strict.accept(proven({}, { filteredBy: ['cameras'] }));
    const taker = new Taker(open);
    assert.equal(await strict.settle(deliveryId, { action: 'retry' }), true);
    await eventually(() => taker.deliveries.length === 1, 'the delivery');
    await allSettled(strict);
  });
});
