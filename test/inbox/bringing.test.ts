import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Store } from '../../lib/inbox/sqlite/store';
import type { Brought, Progress } from '../../lib/inbox/store/protocol';
import { newMessage } from '../../lib/inbox/store/stored-message';
import {
  fail,
  type HookedInbox,
  hookedInboxes,
  temporaryFolder,
  type Hook,
} from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

const pass: Hook = (_name, act) => act();
/** The inbox works, and takes nothing of what was spilled. */
const refuse: Hook = (name, act) => (name === 'bring' ? fail() : act());

describe('what was spilled, on its way into the inbox', () => {
  const open = hookedInboxes();

  const stores = new Map<string, Store>();
  afterEach(() => {
    for (const [folder, store] of stores) {
      store.close();
      fs.rmSync(folder, { recursive: true });
    }
    stores.clear();
  });

  function openStore(): Store {
    const folder = temporaryFolder();
    const store = new Store({ file: path.join(folder, 'inbox.sqlite'), resumed: false });
    stores.set(folder, store);
    return store;
  }

  const isInside = async (inbox: HookedInbox, count: number): Promise<boolean> =>
    inbox.state().durable === true &&
    (await inbox.list({ state: 'all', limit: 1000 })).messages.length === count;

  it('enters all the same where the inbox would not have it the first time', async () => {
    const inbox = open(fail);
    await inbox.accept(proven());
    let asked = 0;
    inbox.hook = (name, act) => (name === 'bring' && (asked += 1) === 1 ? fail() : act());
    await eventually(() => isInside(inbox, 1), 'the event in the inbox');
  });

  it('stays where it is while the inbox, which works, would not have it, and goes to the flow over a restart', async () => {
    const inbox = open(fail);
    for (let count = 0; count < 3; count += 1) await inbox.accept(proven());
    inbox.hook = refuse;
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    const next = open(undefined, inbox.image());
    const taker = new Taker(next);
    await eventually(() => taker.ids.length === 3, 'all events');
    await eventually(() => isInside(next, 3), 'all in the inbox');
  });

  it('is laid over no row that waits to come again, which keeps its id, its attempt and why', async () => {
    const message = proven();
    const inbox = open();
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await inbox.accept(message);
    await eventually(() => taker.ids.length === 1, 'the event');
    const next = open(fail, inbox.image());
    await next.accept(message);
    next.hook = pass;
    await eventually(() => isInside(next, 1), 'one event in the inbox');
    const again = new Taker(next, { handledWhen: 'settled' });
    await eventually(() => again.ids.length === 1, 'the event again');
    const told = again.deliveries.map((each) => [each.deliveryId, each.attempt, each.again]);
    assert.deepEqual(told, [[deliveryId, 2, 'restart']]);
  });

  for (const [what, hook] of [
    ['has entered it', pass],
    ['is not taken by it', refuse],
  ] as const)
    it(`is the only one of its alarm at the flow until it is settled, where it went before one that waits in the inbox, and ${what}`, async () => {
      const inbox = open();
      const taker = new Taker(inbox, { handledWhen: 'settled' });
      const of = (alarmId: string) => proven({ alarmId });
      const [first, waiting, spilled, other] = [of('a'), of('a'), of('a'), of('b')];
      const { deliveryId } = await inbox.accept(first);
      await inbox.accept(waiting);
      await eventually(() => taker.ids.length === 1, 'the first');
      inbox.hook = fail;
      const { deliveryId: spilledId } = await inbox.accept(spilled);
      await inbox.settle(deliveryId, { action: 'done' });
      await eventually(() => taker.ids.length === 2, 'the one that is spilled');
      inbox.hook = hook;
      await eventually(() => inbox.state().durable === true, 'an inbox that works');
      await inbox.accept(other);
      await eventually(() => taker.ids.includes(other.envelope.messageId), 'one of another alarm');
      await inbox.settle(spilledId, { action: 'done' });
      await eventually(() => taker.ids.length === 4, 'the one that waited');
      const order = [first, spilled, other, waiting].map(({ envelope }) => envelope.messageId);
      assert.deepEqual(taker.ids, order);
    });

  it('is known while the inbox, which works, would not have it: its repeat, other content under its id, and the next of its alarm', async () => {
    const inbox = open(fail);
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const message = proven({ alarmId: 'a' });
    const { deliveryId } = await inbox.accept(message);
    inbox.hook = refuse;
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    const { messageId } = message.envelope;
    assert.equal((await inbox.accept(proven({ alarmId: 'b' }, { messageId }))).outcome, 'conflict');
    const next = proven({ alarmId: 'a' });
    const other = proven({ alarmId: 'c' });
    await inbox.accept(next);
    await inbox.accept(other);
    await eventually(() => taker.ids.includes(other.envelope.messageId), 'one of another alarm');
    assert.deepEqual(taker.ids, [messageId, other.envelope.messageId]);
    await inbox.settle(deliveryId, { action: 'done' });
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    await eventually(() => taker.ids.at(-1) === next.envelope.messageId, 'the next of its alarm');
    assert.equal(taker.ids.length, 3);
  });

  it('does not come again after a kill, once the inbox was told its end', async () => {
    const inbox = open(fail);
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await inbox.accept(proven());
    for (let count = 0; count < 100; count += 1) await inbox.accept(proven({}, { endpointId: 'another' }));
    await eventually(() => taker.ids.length === 1, 'the event');
    let brought = 0;
    let isHeld = true;
    // The second hundred does not enter.
    inbox.hook = (name, act) => (name === 'bring' && (brought += 1) > 100 && isHeld ? fail() : act());
    await eventually(() => brought > 100, 'the first hundred');
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    const next = open(undefined, inbox.image());
    isHeld = false;
    const again = new Taker(next, { handledWhen: 'settled' });
    await eventually(() => isInside(next, 101), 'all in the inbox');
    assert.deepEqual(again.ids, []);
  });

  it('ends where it is settled beside the inbox after a kill, though it had entered before', async () => {
    const inbox = open(fail);
    const { deliveryId } = await inbox.accept(proven());
    let image = '';
    inbox.hook = (name, act) => {
      const given = act();
      if (name === 'bring') image = inbox.image();
      return given;
    };
    await eventually(() => image !== '', 'the kill, right after it has entered');
    const next = open(fail, image);
    const taker = new Taker(next, { handledWhen: 'settled' });
    await eventually(() => taker.ids.length === 1, 'the event');
    assert.equal(await next.settle(deliveryId, { action: 'done' }), true);
    next.hook = pass;
    await eventually(
      async () => (await next.list({ state: 'settled', limit: 9 })).messages.length === 1,
      'its end',
    );
    await eventually(() => next.state().durable === true, 'an inbox that works');
    assert.equal(taker.ids.length, 1);
  });

  it('goes to the flow, and is settled, while the inbox does not answer', async () => {
    const inbox = open(fail);
    const { deliveryId } = await inbox.accept(proven());
    let asked = 0;
    inbox.hook = (name, act) => {
      if (name !== 'bring') return act();
      asked += 1;
      return new Promise(() => undefined);
    };
    await eventually(() => asked > 0, 'the question');
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await eventually(() => taker.ids.length === 1, 'the event');
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
  });

  it('goes to the flow when it could not enter after all', async () => {
    const inbox = open(fail);
    await inbox.accept(proven());
    let release: (() => void) | undefined;
    inbox.hook = (name, act) => {
      if (name !== 'bring') return act();
      return new Promise((_resolve, reject) => {
        release = () => {
          inbox.hook = fail;
          reject(new Error('gone'));
        };
      });
    };
    await eventually(() => release !== undefined, 'the question');
    const taker = new Taker(inbox);
    release?.();
    await eventually(() => taker.ids.length === 1, 'the event');
  });

  /** Brings while the inbox takes all late. @returns the way to answer the first, after which the inbox hangs until `release` */
  async function slowly(inbox: HookedInbox): Promise<{ answer: () => void; release: () => void }> {
    let answer = (): void => undefined;
    let asked = 0;
    let isReleased = false;
    inbox.hook = (name, act) => {
      if (name !== 'bring' || isReleased) return act();
      asked += 1;
      if (asked > 1) return new Promise(() => undefined);
      return new Promise((resolve) => {
        const given = act();
        answer = () => resolve(given);
      });
    };
    await eventually(() => inbox.state().fault?.includes('slow') === true && asked > 0, 'that it is slow');
    return { answer: () => answer(), release: () => (isReleased = true) };
  }

  it('comes to the next flow where a deploy gave it back while the inbox was taking it too slowly', async () => {
    const inbox = open();
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await eventually(() => inbox.state().durable === true, 'the inbox');
    inbox.hook = fail;
    await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    const { answer, release } = await slowly(inbox);
    await taker.consumption.end();
    answer();
    release();
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    const next = new Taker(inbox, { handledWhen: 'settled' });
    await eventually(() => next.ids.length === 1, 'the event again');
    const told = next.deliveries.map(({ deliveryId, attempt, again }) => [deliveryId, attempt, again]);
    assert.deepEqual(told, [[taker.deliveries[0]?.deliveryId, 2, 'restart']]);
  });

  const LEASED = { state: 'leased', attempt: 1, cutOff: 0, atFlow: true } as const;
  for (const [what, was, is] of [
    ['was given back as one that the flow did not get', LEASED, { ...LEASED, state: 'received', attempt: 0 }],
    ['waits again, once it had lapsed', { ...LEASED, again: 'lease' }, { ...LEASED, state: 'received' }],
    [
      'waits again, once it was dead',
      { ...LEASED, state: 'dead', again: 'attempts' },
      { ...LEASED, state: 'received', cutOff: 1, again: 'retry' },
    ],
  ] as const)
    it(`waits in the inbox where it ${what}, though the inbox has taken it before`, () => {
      const store = openStore();
      const message = newMessage(proven());
      const deliveryId = randomUUID();
      const bring = (progress: Progress, more: Pick<Brought, 'wasBrought'> = {}): number =>
        store.transaction(() => store.work.bring({ message, deliveryId, progress, ...more }));
      assert.equal(bring(was), 0);
      assert.equal(bring({ ...is, atFlow: false }, { wasBrought: true }), 1);
      assert.equal(
        store.transaction(() => store.work.stateOf(deliveryId)),
        'received',
      );
    });

  it('is left where the flow of the inbox has it, whatever a former process has noted of it', () => {
    const store = openStore();
    const message = newMessage(proven());
    const deliveryId = randomUUID();
    const progress = { state: 'received', attempt: 0, cutOff: 0, atFlow: false } as const;
    const bring = () => store.transaction(() => store.work.bring({ message, deliveryId, progress }));
    assert.equal(bring(), 1);
    const lease = { endpoint: message.endpoint, limit: 1, health: 1, ordered: false };
    assert.equal(store.transaction(() => store.work.lease(lease)).length, 1);
    assert.equal(bring(), 0);
    assert.equal(
      store.transaction(() => store.work.stateOf(deliveryId)),
      'leased',
    );
  });
});
