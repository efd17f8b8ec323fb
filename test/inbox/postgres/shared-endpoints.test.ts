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
const FORMER = ':/north';
const LATTER = ':/south';
const SETTLED = { handledWhen: 'settled' as const };

describe('the endpoints of a flow that runs on two instances', () => {
  let server: SharedServer;
  let one: SharedInbox;
  let other: SharedInbox;

  before(async function () {
    needs(this, 'postgres', 'initdb');
    server = await SharedServer.use();
  });
  after(() => server?.remove());

  beforeEach(async () => {
    const schema = newSchema();
    [one, other] = [instance(schema), instance(schema)];
    const areOpen = (): boolean => [one, other].every((inbox) => inbox.state().durable === true);
    await eventually(areOpen, 'the opening of the inboxes');
  });
  afterEach(() => Promise.all([one.close(), other.close()]));

  function instance(schema: string): SharedInbox {
    const settings = readConnection(server.url(), { schema, tls: 'off', instanceName: '' });
    return new SharedInbox({
      open: (news) => new PostgresStore({ settings }, news),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      patience: PATIENCE,
    });
  }

  const arrive = async (inbox: SharedInbox, endpointId = FORMER): Promise<string> =>
    (await inbox.accept(proven({}, { endpointId }))).deliveryId;
  const idsOf = (...takers: Taker[]): string[] =>
    takers.flatMap(({ deliveries }) => deliveries.map(({ deliveryId }) => deliveryId));
  const came = (ids: readonly string[], ...takers: Taker[]): Promise<void> =>
    eventually(() => idsOf(...takers).length >= ids.length, 'the events').then(() =>
      assert.deepEqual(idsOf(...takers).toSorted(), ids.toSorted()),
    );

  it('have their events in common where it was imported apart, with other ids', async () => {
    const paused = new Taker(one, { endpointId: FORMER, nodeId: 'here' }, 'paused');
    const ids = [await arrive(one), await arrive(one)];
    const there = new Taker(other, { endpointId: FORMER, nodeId: 'there' });
    await came(ids, there);
    assert.deepEqual(paused.deliveries, []);
  });

  it('stay where a copy has them, when one of the two gets another path', async () => {
    const there = new Taker(other, { endpointId: FORMER, nodeId: 'there' }, 'paused');
    const before = new Taker(one, { endpointId: FORMER, nodeId: 'here' }, 'paused');
    const ids = [await arrive(one), await arrive(other)];
    await before.consumption.end();
    const here = new Taker(one, { endpointId: LATTER, nodeId: 'here' });
    there.consumption.resume();
    await came(ids, there);
    assert.deepEqual(idsOf(here), []);
  });

  it('give each event once while a path is changed at one after the other, ids being the same', async () => {
    const node = { nodeId: 'node', ...SETTLED };
    const here = new Taker(one, { endpointId: FORMER, ...node });
    const there = new Taker(other, { endpointId: FORMER, ...node, maxInFlight: 1 });
    const first = await arrive(other);
    await came([first], there);
    // The first instance is deployed with the new path, while the flow of the other has an event of the old one.
    await here.consumption.end();
    const hereAfter = new Taker(one, { endpointId: LATTER, ...node });
    const second = await arrive(one, LATTER);
    await came([second], hereAfter);
    const third = await arrive(other);
    assert.equal(await other.settle(first, { action: 'done' }), true);
    await came([first, second, third], there, hereAfter);
    // And now the other.
    const [left] = idsOf(there).filter((id) => id !== first);
    if (left !== undefined) await other.settle(left, { action: 'done' });
    await there.consumption.end();
    const thereAfter = new Taker(other, { endpointId: LATTER, ...node });
    for (const id of [second, third]) await one.settle(id, { action: 'done' });
    await allSettled(one);
    assert.deepEqual(idsOf(here, thereAfter), []);
    assert.deepEqual([one.abandoned(), other.abandoned()], [[], []]);
  });
});
