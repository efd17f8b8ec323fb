import assert from 'node:assert/strict';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { proven, Taker } from '../samples';

inEachStore('the lease of an event', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  async function delivered(handledWhen: 'sent' | 'settled'): Promise<string> {
    const taker = new Taker(inbox, { handledWhen, redeliverAfter: 7000 });
    const { deliveryId } = await taker.takes();
    return deliveryId;
  }

  it('is as long as its endpoint says, while the flow has the event that it has to settle, and else none', async () => {
    assert.equal(inbox.leaseOf('unknown'), undefined);
    assert.equal(inbox.leaseOf(await delivered('sent')), undefined);
    const deliveryId = await delivered('settled');
    assert.equal(inbox.leaseOf(deliveryId), 7000);
    await inbox.settle(deliveryId, { action: 'done' });
    assert.equal(inbox.leaseOf(deliveryId), undefined);
  });

  for (const maxAttempts of [1e20, Infinity])
    it(`ends where an event may come ${maxAttempts} times`, async () => {
      const taker = new Taker(inbox, { handledWhen: 'settled', redeliverAfter: 1, maxAttempts });
      await inbox.accept(proven());
      await taker.came(2);
      await taker.consumption.end();
    });
});
