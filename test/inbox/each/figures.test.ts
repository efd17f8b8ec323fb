import assert from 'node:assert/strict';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

const HERE = ':/here';
const THERE = ':/there';

inEachStore('the figures of an inbox', (open) => {
  let ahead = 0;
  let inbox: TestedInbox;
  const steady = (): number => performance.now() + ahead;
  beforeEach(async () => {
    ahead = 0;
    inbox = await open({ steady });
  });

  const arrive = (endpointId: string, eventClass = 'security'): Promise<unknown> =>
    inbox.accept(proven({ eventClass }, { endpointId }));

  /** Whole minutes, by endpoint. */
  async function minutes(): Promise<Record<string, number>> {
    const { oldest } = await inbox.figures();
    return Object.fromEntries(
      Object.entries(oldest).map(([endpoint, ms]) => [endpoint, Math.floor(ms / 60_000)]),
    );
  }

  it('say of nothing that waits, or is dead, nothing', async () => {
    const { oldest, dead } = await inbox.figures();
    assert.deepEqual([oldest, dead], [{}, {}]);
  });

  it('say how long the oldest event of each endpoint has waited, health among them', async () => {
    await arrive(HERE, 'health');
    ahead += 60_000;
    await arrive(HERE);
    await arrive(THERE);
    ahead += 60_000;
    assert.deepEqual(await minutes(), { [HERE]: 2, [THERE]: 1 });
  });

  it('say nothing any more of an event that has left', async () => {
    await arrive(HERE);
    assert.deepEqual(await minutes(), { [HERE]: 0 });
    const taker = new Taker(inbox, { endpointId: HERE });
    await eventually(() => taker.deliveries.length === 1, 'the delivery');
    assert.deepEqual(await minutes(), {});
  });

  it('count the dead letters of each station until they are discarded', async () => {
    const { deliveryId } = await inbox.accept({
      ...proven({}, { stationKey: 'south', messageId: 'bad' }),
      kind: 'dead-letter',
      reason: 'not-json',
    });
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await inbox.accept(proven());
    await eventually(() => taker.deliveries.length === 1, 'the delivery');
    await inbox.settle(taker.deliveries[0]?.deliveryId ?? '', { action: 'reject' });
    assert.deepEqual((await inbox.figures()).dead, { north: 1, south: 1 });
    await inbox.dismiss(deliveryId);
    assert.deepEqual((await inbox.figures()).dead, { north: 1 });
  });

  it('fail where the store does', async () => {
    inbox.fails = true;
    await assert.rejects(inbox.figures(), { code: 'STORE_FAILED' });
  });
});

inEachStore('a list of all messages', (open) => {
  it('shows no self-test, and what else is no event', async () => {
    const inbox = await open();
    const other = (messageId: string): ReturnType<typeof proven> => proven({}, { kind: 'other', messageId });
    await inbox.accept(other('self-test-1'));
    await inbox.accept(other('self-test-scheduled-2'));
    await inbox.accept(other('news'));
    const { messages } = await inbox.list({ state: 'all', limit: 10 });
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      ['news'],
    );
  });
});
