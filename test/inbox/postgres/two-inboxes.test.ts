import assert from 'node:assert/strict';
import type { DurableInbox } from '../../../lib/inbox/durable-inbox';
import { idsOf, PostgresStand } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';
import { allSettled, proven, SETTLED, Taker } from '../samples';

const FORMER = ':/north';
const LATTER = ':/south';

describe('a flow that runs on two instances', () => {
  const postgres = PostgresStand.shared();
  let one: DurableInbox;
  let other: DurableInbox;
  beforeEach(async () => {
    [one, other] = await Promise.all([postgres.inbox(), postgres.inbox()]);
  });

  const arrive = async (inbox: DurableInbox, endpointId = FORMER): Promise<string> =>
    (await inbox.accept(proven({}, { endpointId }))).deliveryId;
  const deliveredTo = (...takers: Taker[]): string[] => takers.flatMap(({ deliveries }) => idsOf(deliveries));
  const came = (ids: readonly string[], ...takers: Taker[]): Promise<void> =>
    eventually(() => deliveredTo(...takers).length >= ids.length, 'the events').then(() =>
      assert.deepEqual(deliveredTo(...takers).toSorted(), ids.toSorted()),
    );

  describe('the endpoints of it', () => {
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
      assert.deepEqual(here.deliveries, []);
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
      const [left] = deliveredTo(there).filter((id) => id !== first);
      if (left !== undefined) await other.settle(left, { action: 'done' });
      await there.consumption.end();
      const thereAfter = new Taker(other, { endpointId: LATTER, ...node });
      for (const id of [second, third]) await one.settle(id, { action: 'done' });
      await allSettled(one);
      assert.deepEqual(deliveredTo(here, thereAfter), []);
      assert.deepEqual([one.abandoned(), other.abandoned()], [[], []]);
    });
  });

  describe('of which one does not take what the other takes', () => {
    const filteredBy = ['cameras'] as const;

    it('goes by the one that has accepted an event: for both it is filtered, or for neither', async () => {
      const takers = [new Taker(one), new Taker(other)];
      const message = proven();
      const { deliveryId } = await one.accept({ ...message, filteredBy });
      assert.deepEqual(await other.accept(message), { outcome: 'repeat', deliveryId });
      const taken = proven();
      const accepted = await other.accept(taken);
      assert.equal((await one.accept({ ...taken, filteredBy })).outcome, 'repeat');
      await allSettled(other);
      assert.deepEqual(deliveredTo(...takers), [accepted.deliveryId]);
      for (const inbox of [one, other])
        assert.deepEqual(idsOf((await inbox.list({ state: 'filtered', limit: 9 })).messages), [deliveryId]);
    });

    it('delivers one after all by whichever of them has a flow for it', async () => {
      const { deliveryId } = await one.accept(proven({}, { filteredBy }));
      const taker = new Taker(other);
      assert.equal(await one.settle(deliveryId, { action: 'retry' }), true);
      await came([deliveryId], taker);
      await allSettled(one);
    });
  });
});
