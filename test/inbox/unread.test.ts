import assert from 'node:assert/strict';
import type { InboxNews } from '../../lib/inbox/store-health';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { InlineInbox } from '../support/inline-inbox';
import { failToReadBodies } from '../support/unread-bodies';
import { ENDPOINT, proven, Taker } from './samples';
import { eventually } from '../support/patience';

describe('a body that the disk fails to read', () => {
  let inbox: InlineInbox;
  let news: InboxNews[];
  let mend: () => void;

  beforeEach(() => {
    news = [];
    inbox = new InlineInbox({ log: (line) => news.push(line) });
    mend = () => undefined;
  });
  afterEach(async () => {
    mend();
    await inbox.close();
  });

  it('undoes nothing of what was committed with it', () => {
    const { store } = inbox;
    const [first, second] = [newMessage(proven()), newMessage(proven())];
    const terms = { endpoint: ENDPOINT, limit: 9, health: 9, ordered: false };
    store.transaction(() => store.work.accept({ message: first, lease: 'no' }));
    mend = failToReadBodies();
    const [leased, accepted] = store.transaction(() => [
      store.work.lease(terms),
      store.work.accept({ message: second, lease: 'no' }),
    ]);
    assert.deepEqual(
      leased.map(({ isUnread, bytes }) => [isUnread, bytes]),
      [[true, undefined]],
    );
    assert.equal(accepted.outcome, 'new');
    const repeat = store.transaction(() => store.work.accept({ message: second, lease: 'no' }));
    assert.deepEqual([repeat.outcome, repeat.deliveryId], ['repeat', accepted.deliveryId]);
  });

  it('brings the event later, as a first delivery, and makes no dead letter of it', async () => {
    const { deliveryId = '' } = await inbox.accept(proven());
    mend = failToReadBodies();
    const taker = new Taker(inbox);
    await eventually(() => news.length > 0, 'the word about it');
    assert.deepEqual(taker.ids, []);
    mend();
    await eventually(() => taker.ids.length === 1, 'the delivery');
    const { attempt, again } = taker.deliveries[0] ?? {};
    assert.deepEqual([taker.deliveries[0]?.deliveryId, attempt, again], [deliveryId, 1, undefined]);
    assert.deepEqual(taker.dead, []);
    assert.match(JSON.stringify(news), new RegExp(`${deliveryId} cannot be read now`));
    assert.equal(inbox.waiting(ENDPOINT), 0);
  });

  it('is told once, however often it fails', async () => {
    await inbox.accept(proven());
    let reads = 0;
    mend = failToReadBodies(() => (reads += 1) > 0);
    const taker = new Taker(inbox);
    await eventually(() => reads === 2, 'the second try');
    mend();
    await taker.consumption.end();
    assert.equal(news.length, 1);
  });

  it('keeps no other event waiting', async () => {
    const messages = [proven(), proven(), proven()];
    for (const message of messages) await inbox.accept(message);
    const [first = 0] = inbox.store.work
      .list({ state: 'open', limit: 9 })
      .map(({ sequence }) => sequence)
      .reverse();
    mend = failToReadBodies((sequence) => sequence === first);
    const taker = new Taker(inbox);
    const later = proven();
    await eventually(() => taker.ids.length === 2, 'those that can be read');
    await inbox.accept(later);
    await eventually(() => taker.ids.length === 3, 'one that came later');
    const ids = [...messages.slice(1), later].map(({ envelope }) => envelope.messageId);
    assert.deepEqual(taker.ids, ids);
    mend();
    await eventually(() => taker.ids.length === 4, 'the event once it can be read');
    assert.equal(taker.ids[3], messages[0]?.envelope.messageId);
  });

  it('leaves the event to the next consumer, as one that no flow has had', async () => {
    await inbox.accept(proven());
    mend = failToReadBodies();
    const taker = new Taker(inbox);
    await eventually(() => news.length > 0, 'the word about it');
    await taker.consumption.end();
    assert.equal(inbox.waiting(ENDPOINT), 1);
    mend();
    const next = new Taker(inbox);
    await eventually(() => next.ids.length === 1, 'the delivery');
    assert.deepEqual([next.deliveries[0]?.attempt, next.deliveries[0]?.again], [1, undefined]);
  });

  it('is told of all the same, where the flow that has the event rejects it', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId = '' } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the delivery');
    mend = failToReadBodies();
    assert.equal(await inbox.settle(deliveryId, { action: 'reject', note: 'no such zone' }), true);
    assert.deepEqual(taker.dead, [{ deliveryId, reason: 'rejected', note: 'no such zone' }]);
  });

  it('lists the event without it', async () => {
    await inbox.accept(proven());
    mend = failToReadBodies();
    const [row] = await inbox.list({ state: 'all', limit: 9 });
    assert.deepEqual([row?.state, row?.event], ['received', {}]);
  });
});
