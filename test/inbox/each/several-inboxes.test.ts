import assert from 'node:assert/strict';
import { settleInAny } from '../../../lib/inbox/inboxes';
import type { Inbox } from '../../../lib/inbox/model';
import { listAll, readAll } from '../../../lib/inbox/searches';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { proven, Taker } from '../samples';
import { eventually } from '../../support/time/patience';

inEachStore('of several inboxes, the first of which fails', (open) => {
  let broken: TestedInbox;
  let inbox: TestedInbox;
  let inboxes: Inbox[];

  beforeEach(async () => {
    [broken, inbox] = [await open({ name: 'broken' }), await open()];
    broken.fails = true;
    inboxes = [broken, inbox];
  });

  /** A dead letter for want of attempts. */
  async function deadLetter(): Promise<{ deliveryId: string; taker: Taker }> {
    const taker = new Taker(inbox, { handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 });
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    return { deliveryId, taker };
  }

  it('an event is settled in the one that knows it', async () => {
    const { deliveryId } = await inbox.accept(proven());
    await settleInAny(inboxes, (each) => each.settle(deliveryId, { action: 'done' }));
    assert.equal((await inbox.list({ state: 'settled', limit: 9 })).messages.length, 1);
  });

  it('a dead letter is delivered again from the one that knows it', async () => {
    const { deliveryId, taker } = await deadLetter();
    await settleInAny(inboxes, (each) => each.settle(deliveryId, { action: 'retry' }));
    await taker.came(2);
  });

  it('a dead letter is discarded in the one that knows it', async () => {
    const { deliveryId } = await deadLetter();
    await settleInAny(inboxes, (each) => each.dismiss(deliveryId));
    assert.deepEqual(await inbox.list({ state: 'dead', limit: 9 }), { messages: [] });
  });

  it('what none of the others knows is a failure of the store, for it may be there', async () => {
    const acting = settleInAny(inboxes, (each) => each.settle('unknown', { action: 'done' }));
    await assert.rejects(acting, { code: 'STORE_FAILED' });
  });

  it('one that hangs holds up nothing that another knows', async () => {
    const { deliveryId } = await inbox.accept(proven());
    await settleInAny(inboxes, (each) =>
      each === broken ? new Promise(() => undefined) : each.settle(deliveryId, { action: 'done' }),
    );
  });

  it('what no inbox knows is an unknown delivery, and so is anything where there is none', async () => {
    broken.fails = false;
    for (const asked of [inboxes, []]) {
      const acting = settleInAny(asked, (each) => each.dismiss('unknown'));
      await assert.rejects(acting, { code: 'UNKNOWN_DELIVERY' });
    }
  });

  it('lists are read as far as they can be, newest first and up to the limit', async () => {
    broken.fails = false;
    const at = (second: number) => ({ receivedTime: `2026-03-04T05:06:0${second}.000Z` });
    for (const [index, place] of [broken, inbox, broken, inbox].entries())
      await place.accept(proven({}, at(index + 1)));
    const times = async () =>
      (await listAll(inboxes, { state: 'all', limit: 3 })).messages.map(({ receivedTime }) =>
        Number(receivedTime.slice(17, 19)),
      );
    assert.deepEqual(await times(), [4, 3, 2]);
    broken.fails = true;
    assert.deepEqual(await times(), [4, 2]);
    const { faults } = await listAll(inboxes, { state: 'all', limit: 3 });
    assert.equal(faults.length, 1);
  });

  it('whatever is read of the others is there, with why the first is not', async () => {
    const { answers, faults } = await readAll(inboxes, (each) => each.quarantineSums());
    assert.deepEqual(answers, [[]]);
    assert.match(String(faults[0]), /cannot store/);
  });
});
