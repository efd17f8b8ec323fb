import assert from 'node:assert/strict';
import path from 'node:path';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { InboxEvents } from '../../lib/inbox/store-health';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { InlineInbox } from '../support/inbox/each-store';
import { folderOfEach, inboxIn } from '../support/inbox/folders';
import { ServedStore } from '../support/inbox/served-store';
import { failToReadBodies } from '../support/inbox/hooked-inbox';
import { ENDPOINT, proven, Taker } from './samples';
import { eventually, PATIENCE } from '../support/time/patience';

describe('a body that the disk fails to read', () => {
  let inbox: InlineInbox;
  let news: InboxEvents[];
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
    const { deliveryId } = await inbox.accept(proven());
    mend = failToReadBodies();
    const taker = new Taker(inbox);
    await eventually(() => news.length > 0, 'the word about it');
    assert.deepEqual(taker.ids, []);
    mend();
    await taker.came(1);
    assert.deepEqual([taker.told, taker.dead], [[[deliveryId, 1, undefined]], []]);
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
    await taker.came(2);
    await taker.takes(later);
    const ids = [...messages.slice(1), later].map(({ envelope }) => envelope.messageId);
    assert.deepEqual(taker.ids, ids);
    mend();
    await taker.came(4);
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
    await next.came(1);
    assert.deepEqual(next.told[0]?.slice(1), [1, undefined]);
  });

  it('is told of all the same, where the flow that has the event rejects it', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await taker.takes();
    mend = failToReadBodies();
    assert.equal(await inbox.settle(deliveryId, { action: 'reject', note: 'no such zone' }), true);
    assert.deepEqual(taker.dead, [{ deliveryId, reason: 'rejected', note: 'no such zone' }]);
  });

  it('shows in the state of the inbox until the event can be read', async () => {
    await inbox.accept(proven());
    mend = failToReadBodies();
    const taker = new Taker(inbox);
    await eventually(() => inbox.state().durable === false, 'the state');
    assert.match(inbox.state().fault ?? '', /cannot be read: see to the disk/);
    mend();
    await taker.came(1);
    assert.deepEqual(inbox.state(), { durable: true });
  });

  it('lets the flow know that others wait, where such events fill the window', async () => {
    for (const message of [proven(), proven(), proven()]) await inbox.accept(message);
    mend = failToReadBodies();
    const taker = new Taker(inbox, { handledWhen: 'settled', maxInFlight: 2 });
    await eventually(() => taker.blocked.length > 0, 'the word about those that wait');
    assert.deepEqual(taker.blocked, [1]);
  });

  it('lists the event without it', async () => {
    await inbox.accept(proven());
    mend = failToReadBodies();
    const [row] = (await inbox.list({ state: 'all', limit: 9 })).messages;
    assert.deepEqual([row?.state, row?.event], ['received', {}]);
  });
});

describe('a disk that fails to read bodies', () => {
  const COUNT = 1000;
  const WINDOW = 10;
  let store: ServedStore | undefined;
  let inbox: DurableInbox;
  let news: InboxEvents[];
  let mend: () => void;
  const folder = folderOfEach(() => {
    mend();
    return inbox.close();
  });
  beforeEach(() => {
    news = [];
    const file = path.join(folder(), 'inbox.sqlite');
    inbox = inboxIn(folder(), {
      timeoutMs: PATIENCE,
      log: (line) => news.push(line),
      open: (told) => (store = new ServedStore(file, told)),
    });
    mend = () => undefined;
  });

  const leased = async (): Promise<number> => (await store?.call('leased', ENDPOINT))?.length ?? 0;

  it('has no more events leased than may be unsettled, says so once, and gives all when it is mended', async () => {
    await Promise.all(Array.from({ length: COUNT }, () => inbox.accept(proven())));
    assert.equal(inbox.state().durable, true);
    let reads = 0;
    mend = failToReadBodies(() => (reads += 1) > 0);
    const taker = new Taker(inbox, { maxInFlight: WINDOW });
    await eventually(() => inbox.state().durable === false, 'the state');
    await eventually(() => reads > WINDOW, 'the second try');
    // The store was closed, and opens again when it is asked.
    let held = 0;
    await eventually(
      async () => (held = await leased().catch(() => 0)) >= WINDOW,
      'the store, and a full window',
    );
    assert.equal(held, WINDOW);
    assert.deepEqual([inbox.waiting(ENDPOINT), taker.ids], [COUNT - WINDOW, []]);
    assert.equal(news.filter(({ kind }) => kind === 'line').length, 1);
    assert.match(JSON.stringify(news), /cannot be read now, nor can 9 more/);
    assert.match(JSON.stringify(news), /the disk reports errors/);
    assert.equal(inbox.state().durable, false);
    mend();
    await eventually(() => taker.ids.length === COUNT, 'all events');
    // Each once, though not in order: one that could not be read holds up none that can.
    assert.equal(new Set(taker.ids).size, COUNT);
    assert.ok(taker.deliveries.every(({ attempt, again }) => attempt === 1 && again === undefined));
    assert.deepEqual([taker.dead, inbox.waiting(ENDPOINT)], [[], 0]);
    await eventually(() => inbox.state().durable === true, 'a better state');
  });

  it('is told by a store that closes its file, and answers what it has committed', async () => {
    await inbox.accept(proven());
    mend = failToReadBodies();
    const ask = { endpoint: ENDPOINT, limit: 9, health: 9, ordered: false };
    const events = await store?.call('lease', ask);
    assert.deepEqual(
      events?.map(({ isUnread, bytes }) => [isUnread, bytes]),
      [[true, undefined]],
    );
    await eventually(() => inbox.state().durable === false, 'the fault');
    assert.match(inbox.state().fault ?? '', /the disk reports errors/);
    mend();
    await eventually(() => inbox.state().durable === true, 'the next opening');
    assert.equal(
      (await inbox.list({ state: 'open', limit: 9 })).messages[0]?.event.eventName,
      'Person in yard',
    );
  });
});
