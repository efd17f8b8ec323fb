import assert from 'node:assert/strict';
import { InlineInbox } from '../support/inbox/inline-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('the lease of an event', () => {
  let inbox: InlineInbox;
  beforeEach(() => {
    inbox = new InlineInbox();
  });
  afterEach(() => inbox.close());

  async function delivered(handledWhen: 'sent' | 'settled'): Promise<string> {
    const taker = new Taker(inbox, { handledWhen, redeliverAfter: 7000 });
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.deliveries.length === 1, 'the event');
    return deliveryId;
  }

  it('is as long as its endpoint says, while the flow has the event', async () => {
    const deliveryId = await delivered('settled');
    assert.equal(inbox.leaseOf(deliveryId), 7000);
    await inbox.settle(deliveryId, { action: 'done' });
    assert.equal(inbox.leaseOf(deliveryId), undefined);
  });

  it('is none where nothing has to be settled, or nothing is known of the event', async () => {
    assert.equal(inbox.leaseOf(await delivered('sent')), undefined);
    assert.equal(inbox.leaseOf('unknown'), undefined);
  });
});
