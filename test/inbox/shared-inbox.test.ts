import assert from 'node:assert/strict';
import type { Consumer } from '../../lib/inbox/model';
import type { DurableInbox, SharedInboxOptions } from '../../lib/inbox/durable-inbox';
import { InlineInbox } from '../support/inbox/each-store';
import { type InstanceStore, SharedFile } from '../support/inbox/shared-store';
import { MovableTimers } from '../support/time/virtual-time';
import { eventually } from '../support/time/patience';
import { allSettled, ENDPOINT, proven, Taker } from './samples';

interface Instance {
  inbox: DurableInbox;
  store: InstanceStore;
}

describe('an inbox that instances share', () => {
  let file: SharedFile;
  let instances: Instance[];

  beforeEach(() => {
    file = new SharedFile();
    instances = [];
  });

  afterEach(async () => {
    for (const { inbox, store } of instances) {
      store.fails = false;
      store.answer();
      await inbox.close();
    }
    file.close();
  });

  const instance = async (options: Partial<SharedInboxOptions> = {}): Promise<Instance> => {
    const opened = file.instance(options);
    instances.push(opened);
    await eventually(() => opened.inbox.state().durable === true, 'the opening');
    return opened;
  };
  const settled: Partial<Consumer> = { handledWhen: 'settled' };
  const two = async (): Promise<[Instance, Instance]> => [await instance(), await instance()];
  /** All that was begun in earlier turns of the event loop has happened. */
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  it('takes part while it has a consumer, of whatever endpoint', async () => {
    const { inbox, store } = await instance();
    const [north, south] = [
      new Taker(inbox, { endpointId: 'north' }),
      new Taker(inbox, { endpointId: 'south' }),
    ];
    assert.equal(store.takesPart, true);
    await north.consumption.end();
    assert.equal(store.takesPart, true);
    await south.consumption.end();
    assert.equal(store.takesPart, false);
    const again = new Taker(inbox, settled);
    assert.equal(store.takesPart, true);
    await again.consumption.end();
  });

  describe('gives an event to one of them', () => {
    it('that accepted it, where that has room', async () => {
      const [one, other] = await two();
      const [here, there] = [new Taker(one.inbox, settled), new Taker(other.inbox, settled)];
      await turns();
      await here.takes();
      assert.deepEqual(there.deliveries, []);
    });

    it('that has room, where the one that accepted it has none', async () => {
      const [one, other] = await two();
      const here = new Taker(one.inbox, { ...settled, maxInFlight: 1 });
      const there = new Taker(other.inbox, settled);
      for (let count = 0; count < 5; count += 1) await one.inbox.accept(proven());
      await there.came(4);
      assert.equal(here.deliveries.length, 1);
    });

    it('that is left, where another ends', async () => {
      const [one, other] = await two();
      const here = new Taker(one.inbox, settled);
      const { deliveryId } = await here.takes();
      const there = new Taker(other.inbox, settled);
      await one.inbox.close();
      await there.came(1);
      assert.deepEqual(there.told, [[deliveryId, 2, 'restart']]);
    });

    it('after the former of its alarm, wherever that is', async () => {
      const [one, other] = await two();
      const here = new Taker(one.inbox, settled);
      const there = new Taker(other.inbox, settled);
      await turns();
      const former = await one.inbox.accept(proven({ alarmId: 'a' }));
      await here.came(1);
      const latter = await other.inbox.accept(proven({ alarmId: 'a' }));
      await turns();
      assert.deepEqual(there.deliveries, []);
      await one.inbox.settle(former.deliveryId, { action: 'done' });
      await eventually(() => here.deliveries.length + there.deliveries.length === 2, 'the latter');
      assert.equal([...here.deliveries, ...there.deliveries].at(-1)?.deliveryId, latter.deliveryId);
    });
  });

  it('has room for the next event where it settles one that the store knows to be settled already', async () => {
    const { inbox } = await instance();
    const taker = new Taker(inbox, { ...settled, maxInFlight: 1 });
    const { deliveryId } = await inbox.accept(proven());
    await inbox.accept(proven());
    await taker.came(1);
    file.store.transaction(() => file.store.work.finish({ deliveryId, state: 'delivered', give: false }));
    assert.ok(await inbox.settle(deliveryId, { action: 'done' }));
    await taker.came(2);
  });

  describe('that others may take for dead', () => {
    it('hands nothing over until its beats are answered', async () => {
      const { inbox, store } = await instance();
      const taker = new Taker(inbox);
      store.stall();
      for (let count = 0; count < 3; count += 1) await inbox.accept(proven());
      await turns();
      assert.deepEqual(taker.deliveries, []);
      store.wake();
      await taker.came(3);
      await allSettled(inbox);
    });

    it('stops within a line of events', async () => {
      const { inbox, store } = await instance();
      const taker: Taker = new Taker(inbox, {
        deliver: (delivery) => {
          if (taker.deliveries.push(delivery) === 2) store.stall();
          return true;
        },
      });
      await Promise.all(Array.from({ length: 5 }, () => inbox.accept(proven())));
      await taker.came(2);
      await turns();
      assert.equal(taker.deliveries.length, 2);
      store.wake();
      await taker.came(5);
    });

    it('gives what waits to be handed over back as never sent, where its flow stops', async () => {
      const [one, other] = await two();
      const taker = new Taker(one.inbox);
      one.store.stall();
      await one.inbox.accept(proven());
      await turns();
      taker.consumption.pause();
      const there = new Taker(other.inbox);
      await there.came(1);
      assert.deepEqual(there.told[0]?.slice(1), [1, undefined]);
    });

    it('hands nothing over that is with another by now', async () => {
      const [one, other] = await two();
      const here = new Taker(one.inbox, settled);
      one.store.stall();
      await one.inbox.accept(proven());
      const there = new Taker(other.inbox, settled);
      await turns();
      file.reap(one.store);
      await there.came(1);
      one.store.findOut();
      one.store.wake();
      await turns();
      assert.deepEqual(here.deliveries, []);
    });

    it('has room again for what it has lost', async () => {
      const [one, other] = await two();
      const here = new Taker(one.inbox, { ...settled, maxInFlight: 1 });
      const { deliveryId } = await here.takes();
      const there = new Taker(other.inbox, { ...settled, maxInFlight: 1 });
      file.reap(one.store);
      await there.came(1);
      assert.equal(there.deliveries[0]?.again, 'restart');
      one.store.findOut();
      const next = await here.takes();
      assert.equal(here.deliveries[1]?.deliveryId, next.deliveryId);
      assert.equal(await one.inbox.settle(deliveryId, { action: 'done' }), true);
    });

    it('lets no lease of what it has lost end', async () => {
      const [one, other] = await two();
      const here = new Taker(one.inbox, { ...settled, redeliverAfter: 1, maxAttempts: 1 });
      one.store.stall();
      await one.inbox.accept(proven());
      await turns();
      const there = new Taker(other.inbox, settled);
      await turns();
      file.reap(one.store);
      await there.came(1);
      one.store.findOut();
      one.store.wake();
      await turns();
      assert.deepEqual([here.deliveries, here.dead], [[], []]);
      assert.equal(one.store.questions.includes('lapse'), false);
    });

    it('tells that what its flow had is over, for that is a fact', async () => {
      const { inbox, store } = await instance();
      const taker = new Taker(inbox, {
        deliver: () => {
          // Between the hand-over and the moment in which it counts as left.
          setImmediate(() => store.news.onEpochLost());
          return true;
        },
      });
      await inbox.accept(proven());
      await allSettled(inbox);
      assert.deepEqual(taker.dead, []);
    });

    it('tells so also the one that has leased it by then, and has not handed it over yet', async () => {
      const [one, other] = await two();
      const there = new Taker(other.inbox);
      other.store.stall();
      const here = new Taker(one.inbox, {
        deliver: () => {
          file.reap(one.store);
          return true;
        },
      });
      await one.inbox.accept(proven());
      await allSettled(one.inbox);
      other.store.wake();
      await turns();
      assert.deepEqual([there.deliveries, here.dead], [[], []]);
    });

    it('tells so once the store works again', async () => {
      const { inbox, store } = await instance();
      const taker: Taker = new Taker(inbox, {
        deliver: (delivery) => {
          store.fails = true;
          return taker.deliveries.push(delivery) > 0;
        },
      });
      await inbox.accept(proven());
      await eventually(() => store.questions.includes('markDelivered'), 'the mark that fails');
      store.news.onEpochLost();
      store.fails = false;
      await allSettled(inbox);
      assert.equal(taker.deliveries.length, 1);
    });
  });

  describe('whose event is settled elsewhere', () => {
    let one: Instance;
    let other: Instance;
    let here: Taker;
    let deliveryId: string;

    beforeEach(async () => {
      [one, other] = await two();
      here = new Taker(one.inbox, { ...settled, maxInFlight: 1, redeliverAfter: 60_000 });
      ({ deliveryId } = await here.takes());
    });

    it('has room for the next', async () => {
      assert.equal(await other.inbox.settle(deliveryId, { action: 'done' }), true);
      await here.takes();
    });

    it('delivers it again where that is wished elsewhere', async () => {
      assert.equal(await other.inbox.settle(deliveryId, { action: 'retry' }), true);
      await here.came(2);
      assert.deepEqual(here.told[1], [deliveryId, 2, 'retry']);
    });

    it('delivers nothing that was settled while it was being leased', async () => {
      const waiting = await one.inbox.accept(proven());
      other.store.fallSilent();
      const there = new Taker(other.inbox, settled);
      await turns();
      assert.equal(file.holderOf(waiting.deliveryId), other.store);
      await one.inbox.settle(waiting.deliveryId, { action: 'done' });
      other.store.answer();
      await allSettled(one.inbox, 1);
      await turns();
      assert.deepEqual(there.deliveries, []);
    });

    it('tells a rejection at the instance that was told of it', async () => {
      const there = new Taker(other.inbox, settled);
      await other.inbox.settle(deliveryId, { action: 'reject', note: 'no' });
      assert.deepEqual(there.dead, [{ deliveryId, reason: 'rejected', note: 'no' }]);
      await turns();
      assert.deepEqual(here.dead, []);
    });
  });

  it('gives a lease more time where that is wished elsewhere', async () => {
    const [one, other] = await two();
    const timers = new MovableTimers();
    timers.start();
    try {
      const here = new Taker(one.inbox, { ...settled, redeliverAfter: 60_000 });
      const [wished, left] = [await one.inbox.accept(proven()), await one.inbox.accept(proven())];
      await here.came(2);
      for (let turn = 0; turn < 2; turn += 1) {
        timers.advance(40);
        assert.equal(await other.inbox.settle(wished.deliveryId, { action: 'extend' }), true);
        await turns();
      }
      await here.came(3);
      assert.equal(here.deliveries[2]?.deliveryId, left.deliveryId);
    } finally {
      timers.stop();
    }
  });

  it('counts what others have accepted', async () => {
    const [one, other] = await two();
    await one.inbox.accept(proven());
    await one.inbox.accept(proven());
    other.store.news.onWaiting(file.waiting());
    assert.deepEqual([one.inbox.waiting(ENDPOINT), other.inbox.waiting(ENDPOINT)], [2, 2]);
  });

  it('takes what it has counted, though nobody told of it', async () => {
    const [one, other] = await two();
    const there = new Taker(other.inbox);
    await turns();
    file.instances.splice(0);
    await one.inbox.accept(proven());
    await turns();
    assert.deepEqual(there.deliveries, []);
    other.store.news.onWaiting(file.waiting());
    await there.came(1);
  });

  it('tells which instances share it', async () => {
    const [one, other] = await two();
    const rows = await one.inbox.instances();
    assert.deepEqual(
      rows.map(({ epoch, isSelf }) => [epoch, isSelf]),
      [
        [one.store.epoch, true],
        [other.store.epoch, false],
      ],
    );
  });

  it('tells of none where it belongs to one alone', async () => {
    const inbox = new InlineInbox();
    assert.deepEqual(await inbox.instances(), []);
    await inbox.close();
  });

  describe('whose store does not answer', () => {
    it('refuses a message after a while, and says why', async () => {
      const { inbox, store } = await instance({ timeoutMs: 20 });
      store.fallSilent();
      await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED', message: /answers too slowly/ });
      assert.equal(inbox.state().durable, false);
      assert.equal(await inbox.canAccept(), false);
    });

    it('delivers what was stored too late for its sender, once', async () => {
      const { inbox, store } = await instance({ timeoutMs: 20 });
      const taker = new Taker(inbox);
      await turns();
      const message = proven();
      store.fallSilent();
      await assert.rejects(inbox.accept(message), { code: 'STORE_FAILED' });
      store.answer();
      await taker.came(1);
      const { outcome } = await inbox.accept(message);
      await allSettled(inbox);
      assert.deepEqual([outcome, taker.deliveries.length], ['repeat', 1]);
    });

    it('keeps the places of what it may have leased', async () => {
      const { inbox, store } = await instance({ timeoutMs: 20 });
      const taker = new Taker(inbox, { ...settled, maxInFlight: 1 });
      await turns();
      store.fallSilent();
      await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
      await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
      store.answer();
      await taker.came(1);
      await turns();
      assert.equal(taker.deliveries.length, 1);
    });
  });

  describe('whose store fails', () => {
    it('refuses messages, with the reason', async () => {
      const { inbox, store } = await instance();
      store.fails = true;
      await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED', message: /the database is gone/ });
      assert.deepEqual(inbox.state(), { durable: false, fault: 'the database is gone' });
    });

    for (const action of ['done', 'reject'] as const)
      it(`is told until it knows what the flow has said of its event: ${action}`, async () => {
        const { inbox, store } = await instance({ lookAgain: 5 });
        const taker = new Taker(inbox, settled);
        const { deliveryId } = await taker.takes();
        store.fails = true;
        const asked = store.questions.length;
        const settling = inbox.settle(deliveryId, { action });
        const tries = (): number => store.questions.slice(asked).filter((name) => name === 'finish').length;
        await eventually(() => tries() > 1, 'a second try');
        store.fails = false;
        assert.equal(await settling, true);
        await allSettled(inbox);
        assert.equal(taker.deliveries.length, 1);
      });

    it('is told no more of it once the inbox is closed', async () => {
      const { inbox, store } = await instance({ lookAgain: 5, timeoutMs: 20 });
      const taker = new Taker(inbox, settled);
      const { deliveryId } = await taker.takes();
      store.fails = true;
      const settling = assert.rejects(inbox.settle(deliveryId, { action: 'done' }), { code: 'STORE_FAILED' });
      await inbox.close();
      await settling;
    });

    it('refuses what is said of an event that the flow does not have', async () => {
      const { inbox, store } = await instance();
      const { deliveryId } = await inbox.accept(proven());
      store.fails = true;
      await assert.rejects(inbox.settle(deliveryId, { action: 'done' }), { code: 'STORE_FAILED' });
    });

    it('ends all the same', async () => {
      const { inbox, store } = await instance({ timeoutMs: 20 });
      const taker = new Taker(inbox, settled);
      await taker.takes();
      store.fallSilent();
      await inbox.close();
      await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED', message: /closed/ });
    });
  });
});
