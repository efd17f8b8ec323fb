import assert from 'node:assert/strict';
import { mock } from 'node:test';
import type { Delivery } from '../../lib/inbox/model';
import type { EventQueue } from '../../lib/inbox/queue/event-queue';
import { EventQueues } from '../../lib/inbox/queue/event-queues';
import type { AnyCall, AnyStore, LeasedMessage, StoreCalls, StoredMessage } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { Gate } from '../support/time/patience';
import { ENDPOINT, proven } from './samples';

const stored = (deliveryId: string, rank: 0 | 1 = 0): StoredMessage => ({
  ...newMessage(proven()),
  sequence: 1,
  deliveryId,
  rank,
  attempt: 1,
  first: true,
  ended: false,
  state: 'leased',
  again: undefined,
  isUnread: true,
});

/** It leases what it is told to, once, when it is told to, and keeps what it is given back. */
class LeasingStore implements AnyStore {
  next: LeasedMessage[] = [];
  leased: string[] = [];
  /** How many were asked for, each time. */
  readonly asked: number[] = [];
  readonly given: string[][] = [];
  answersLease: Promise<void> = Promise.resolve();
  takesBack: Promise<void> = Promise.resolve();

  call<Name extends AnyCall>(name: Name, take: StoreCalls[Name]['take']): Promise<StoreCalls[Name]['give']> {
    const answers: {
      [Each in AnyCall]?: (taken: StoreCalls[Each]['take']) => Promise<StoreCalls[Each]['give']>;
    } = {
      leased: async () => this.leased,
      lease: async ({ limit }) => {
        this.asked.push(limit);
        const leased = this.next.splice(0);
        await this.answersLease;
        return leased;
      },
      giveBack: async ({ unsent, cutOff }) => {
        this.given.push([...unsent, ...cutOff]);
        await this.takesBack;
        return 0;
      },
    };
    return answers[name]?.(take) ?? assert.fail(name);
  }

  async close(): Promise<void> {
    // It ends with the test.
  }
}

let store: LeasingStore;
let queue: EventQueue;
let deliveries: Delivery[];
/** Beside the inbox: what it leases next. */
let spilled: Promise<LeasedMessage[]> | undefined;

function begin(): void {
  mock.timers.enable({ apis: ['setTimeout'] });
  [store, deliveries, spilled] = [new LeasingStore(), [], undefined];
  const stores = {
    both: store,
    spilled: {
      lease: () => {
        const leasing = spilled ?? Promise.resolve([]);
        spilled = undefined;
        return leasing;
      },
      waiting: () => (spilled === undefined ? 0 : 1),
    },
    canLease: () => true,
    isLeaseSafe: () => true,
    isSettled: () => false,
  };
  const queues = new EventQueues(
    () => undefined,
    () => undefined,
  );
  queues.connect(stores);
  queue = queues.of(ENDPOINT);
}

function attach(maxInFlight = 10): void {
  queue.attach({
    endpointId: ENDPOINT,
    nodeId: 'node',
    handledWhen: 'settled',
    redeliverAfter: 120_000,
    maxAttempts: 1,
    maxInFlight,
    deliver: (delivery) => deliveries.push(delivery) > 0,
    onDead: () => undefined,
    onBlocked: () => undefined,
    onSpilled: () => undefined,
    onIncident: () => undefined,
  });
  queue.resume();
}

/** What is due goes back in the next turn of the event loop. */
async function pass(milliseconds: number): Promise<void> {
  mock.timers.tick(milliseconds);
  await new Promise(setImmediate);
}

async function lease(...events: LeasedMessage[]): Promise<void> {
  store.next = events;
  queue.lookAnew();
  await pass(0);
}

describe('a queue of events', () => {
  beforeEach(begin);
  afterEach(() => mock.timers.reset());

  it('keeps no places for what arrives while more wait than it has asked for', async () => {
    attach(300);
    await pass(0);
    const gate = new Gate();
    store.answersLease = gate.opened;
    queue.storeOpened(250);
    assert.deepEqual([store.asked.at(-1), queue.lease(proven())], [100, 'no']);
    queue.count(-200);
    assert.deepEqual([queue.lease(proven()), queue.window.inspect().reserved], ['ordered', 101]);
    gate.open();
  });

  it('does not read once more what has waited for a moment', async () => {
    const message = proven();
    queue.stored(message, 'no', {
      outcome: 'new',
      deliveryId: 'a',
      sequence: 1,
      first: true,
      ended: false,
      leased: false,
    });
    attach();
    const { bytes: _bytes, isUnread: _isUnread, ...row } = stored('a');
    await lease(row);
    await pass(0);
    assert.deepEqual(deliveries, [
      { deliveryId: 'a', sequence: 1, attempt: 1, first: true, ended: false, message },
    ]);
  });

  it('gives back what was leased for it after it had given that up', async () => {
    const gate = new Gate();
    store.answersLease = gate.opened;
    store.next = [stored('a')];
    attach();
    queue.onStoreTimeout();
    gate.open();
    await pass(0);
    assert.deepEqual([store.given, deliveries, queue.window.inspect().held], [[['a']], [], 0]);
  });

  it('does not give back what is on its way to it from beside the inbox', async () => {
    const gate = new Gate();
    const { isUnread: _isUnread, ...row } = stored('a');
    spilled = gate.opened.then(() => [row]);
    attach();
    store.leased = ['a'];
    queue.storeOpened(0);
    await pass(0);
    gate.open();
    await pass(0);
    await pass(1000);
    assert.deepEqual([store.given, deliveries.map(({ deliveryId }) => deliveryId)], [[], ['a']]);
  });
});

describe('events that cannot be read', () => {
  beforeEach(() => {
    begin();
    attach();
  });
  afterEach(() => mock.timers.reset());

  const held = (): number[] => [queue.window.inspect().held, queue.window.inspect().health];

  it('keep their places, those of health their share of them, until the store has them back, and look for others then', async () => {
    const gate = new Gate();
    store.takesBack = gate.opened;
    await lease(stored('a'), stored('b', 1));
    await pass(1000);
    const asked = store.asked.length;
    assert.deepEqual([store.given, held()], [[['a', 'b']], [2, 1]]);
    gate.open();
    await pass(0);
    assert.deepEqual(held(), [0, 0]);
    assert.ok(store.asked.length > asked, 'it looks for others');
  });

  it('go back together, after pauses that grow', async () => {
    await lease(stored('a'), stored('b'));
    await pass(999);
    assert.deepEqual(store.given, []);
    await pass(1);
    await lease(stored('a'), stored('b'));
    await pass(4999);
    assert.deepEqual(store.given, [['a', 'b']]);
    await pass(1);
    assert.deepEqual(store.given.slice(1), [['a', 'b']]);
  });

  it('that went back before their time pause anew when they cannot be read again', async () => {
    await lease(stored('a'));
    await pass(500);
    await queue.detach();
    attach();
    await lease(stored('a'));
    await pass(999);
    assert.deepEqual(store.given, [['a']]);
    await pass(1);
    assert.deepEqual(store.given, [['a'], ['a']]);
  });

  it('do not go back once they are settled', async () => {
    await lease(stored('a'), stored('b'));
    queue.settled('a', false);
    assert.deepEqual(held(), [1, 0]);
    await pass(1000);
    assert.deepEqual(store.given, [['b']]);
  });

  it('do not go back while the flows stand still', async () => {
    await lease(stored('a'));
    queue.pause();
    await pass(60_000);
    assert.deepEqual([store.given, held()], [[], [1, 0]]);
    queue.resume();
    await pass(0);
    assert.deepEqual(store.given, [['a']]);
  });
});
