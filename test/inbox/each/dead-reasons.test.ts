import assert from 'node:assert/strict';
import type { ListedMessage } from '../../../lib/inbox/inbox';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

inEachStore('a list of dead letters says of one', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => {
    inbox = await open();
  });

  async function onlyLetter(): Promise<ListedMessage> {
    const list = async (): Promise<ListedMessage[]> =>
      (await inbox.list({ state: 'dead', limit: 9 })).messages;
    await eventually(async () => (await list()).length === 1, 'the dead letter');
    return (await list())[0] ?? assert.fail();
  }

  it('that is of no use, why', async () => {
    const { event: _event, envelope: _envelope, ...record } = proven();
    await inbox.accept({ ...record, kind: 'dead-letter', reason: 'too-deep' });
    assert.equal((await onlyLetter()).reason, 'too-deep');
  });

  it('that nothing settled, so, and that it can be had again', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled', maxAttempts: 1, redeliverAfter: 1 });
    await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    const { reason, canRetry } = await onlyLetter();
    assert.deepEqual([reason, canRetry], ['attempts', true]);
  });

  it('that the flow rejected, so', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the delivery');
    await inbox.settle(deliveryId, { action: 'reject' });
    assert.equal((await onlyLetter()).reason, 'rejected');
  });

  it('that it is none, nothing', async () => {
    const taker = new Taker(inbox);
    await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the delivery');
    const {
      messages: [listed],
    } = await inbox.list({ state: 'all', limit: 9 });
    assert.equal(listed !== undefined && 'reason' in listed, false);
  });
});
