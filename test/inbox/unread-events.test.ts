import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { DeliveryWindow } from '../../lib/inbox/queue/delivery-window';
import { UnreadEvents } from '../../lib/inbox/queue/unreadable';
import type { StoredMessage } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { Gate } from '../support/time/patience';
import { proven } from './samples';

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

describe('events that cannot be read', () => {
  const terms = { handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1, maxInFlight: 10 } as const;
  let window: DeliveryWindow;
  let unread: UnreadEvents;
  let given: string[][];
  let freed: number[];
  let store: Promise<void>;

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    [given, freed] = [[], []];
    store = Promise.resolve();
    window = new DeliveryWindow();
    window.terms = terms;
    unread = new UnreadEvents(window, {
      giveBack: (ids) => {
        given.push(ids);
        return store;
      },
      freed: () => freed.push(window.capacity),
      changed: () => undefined,
      log: () => undefined,
    });
    unread.resume();
  });
  afterEach(() => mock.timers.reset());

  /** What is due goes back in the next turn of the event loop. */
  async function pass(milliseconds: number): Promise<void> {
    mock.timers.tick(milliseconds);
    await new Promise(setImmediate);
  }

  it('keep their places, those of health their share of them, until the store has them back, and tell of it then', async () => {
    const gate = new Gate();
    store = gate.opened;
    unread.failed([stored('a'), stored('b', 1)]);
    await pass(1000);
    assert.deepEqual([window.capacity, window.roomForHealth, freed], [8, 8, []]);
    gate.open();
    await pass(0);
    assert.deepEqual([window.capacity, window.roomForHealth, freed], [10, 9, [10]]);
  });

  it('go back together, after pauses that grow', async () => {
    unread.failed([stored('a'), stored('b')]);
    await pass(999);
    assert.deepEqual(given, []);
    await pass(1);
    unread.failed([stored('a'), stored('b')]);
    await pass(4999);
    assert.deepEqual(given, [['a', 'b']]);
    await pass(1);
    assert.deepEqual(given.slice(1), [['a', 'b']]);
  });

  it('that went back before their time pause anew when they cannot be read again', async () => {
    unread.failed([stored('a')]);
    await pass(500);
    await unread.giveAllBack();
    unread.failed([stored('a')]);
    await pass(999);
    assert.deepEqual(given, [['a']]);
    await pass(1);
    assert.deepEqual(given, [['a'], ['a']]);
  });

  it('do not go back once they are settled', async () => {
    unread.failed([stored('a'), stored('b')]);
    unread.forget('a');
    assert.equal(window.capacity, 9);
    await pass(1000);
    assert.deepEqual(given, [['b']]);
  });

  it('do not go back while the flows stand still', async () => {
    unread.failed([stored('a')]);
    unread.pause();
    await pass(60_000);
    assert.deepEqual([given, window.capacity], [[], 9]);
    unread.resume();
    await pass(0);
    assert.deepEqual(given, [['a']]);
  });
});
