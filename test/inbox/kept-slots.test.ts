import assert from 'node:assert/strict';
import type { InboxState } from '../../lib/inbox/model';
import { SlotStore, SlotListeners } from '../../lib/inbox/slots';
import { storeFailed, type AnyStore, type AnyCall, type StoreCalls } from '../../lib/inbox/store/port';
import { eventually, soon } from '../support/time/patience';

const OWNER = 'alarms:yard';
const NONE = { version: 0, isAll: true, slots: [] };
const WRITTEN = [{ written: true }];
const TOO_SLOW = { code: 'STORE_FAILED', message: /answers too slowly/ };

describe('the slots of a store that does not answer', () => {
  let health: { state: InboxState };
  let answers: (() => void)[];
  let watchers: SlotListeners;
  let slots: SlotStore;
  beforeEach(() => {
    [health, answers] = [{ state: { durable: true } }, []];
    watchers = new SlotListeners();
    const store: AnyStore = {
      call: <Name extends AnyCall>(name: Name) =>
        new Promise<StoreCalls[Name]['give']>((resolve) => {
          answers.push(() => resolve(name === 'slots' ? NONE : WRITTEN));
        }),
      close: async () => undefined,
    };
    slots = new SlotStore(store, { health, watchers, timeoutMs: 50 });
  });

  const answerAll = (): void => {
    for (const answer of answers.splice(0)) answer();
  };

  it('are given up after a while, with the reason that the inbox has', async () => {
    await assert.rejects(soon(slots.slots(OWNER)), TOO_SLOW);
    health.state = { durable: false, fault: 'the disk is gone' };
    await assert.rejects(soon(slots.slots(OWNER)), { code: 'STORE_FAILED', message: /the disk is gone/ });
  });

  it('are waited for while it is being opened', async () => {
    health.state = { durable: undefined };
    const asked = slots.slots(OWNER);
    await assert.rejects(soon(asked, 6), /not there after/);
    answerAll();
    assert.deepEqual(await asked, NONE);
  });

  it('are asked for no more once a thousand questions wait, until it has answered', async () => {
    const asked = Array.from({ length: 1000 }, () => slots.slots(OWNER));
    await assert.rejects(soon(slots.slots(OWNER)), TOO_SLOW);
    assert.equal(
      (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected').length,
      1000,
    );
    await assert.rejects(soon(slots.slotOwners('')), TOO_SLOW);
    assert.equal(answers.length, 1000);
    answerAll();
    await eventually(() => {
      const next = slots.slots(OWNER);
      answerAll();
      return next.then(
        () => true,
        () => false,
      );
    }, 'the next answer');
  });

  it('take no more than 32 MiB of values that wait, but for what is more by itself', async () => {
    const value = 'x'.repeat(1024 * 1024 - 2);
    const put = () => slots.putSlots(OWNER, [{ name: 'a', value }]);
    const asked = Array.from({ length: 32 }, put);
    await assert.rejects(soon(put()), TOO_SLOW);
    assert.equal(answers.length, 32);
    answerAll();
    await Promise.all(asked);
    const large = slots.putSlots(
      OWNER,
      Array.from({ length: 40 }, (_, number) => ({ name: `${number}`, value })),
    );
    assert.equal(answers.length, 1);
    answerAll();
    await large;
  });

  it('are told of when they are written after all', async () => {
    let told = 0;
    watchers.add(OWNER, () => (told += 1));
    await assert.rejects(soon(slots.putSlots(OWNER, [{ name: 'a', value: 1 }])), TOO_SLOW);
    assert.equal(told, 0);
    answerAll();
    await eventually(() => told === 1, 'the watcher to be told');
  });
});

describe('the slots of a store that was opened once more', () => {
  it('are given all to who asks from a version of before, for it may be of another store', async () => {
    const asked: number[] = [];
    const store: AnyStore = {
      call: async <Name extends AnyCall>(_name: Name, take: StoreCalls[Name]['take']) => {
        const since = typeof take === 'object' && 'since' in take ? Number(take.since) : 0;
        asked.push(since);
        return { version: since + 5, isAll: since === 0, slots: [] };
      },
      close: async () => undefined,
    };
    const watchers = new SlotListeners();
    let told = 0;
    watchers.add(OWNER, () => (told += 1));
    const slots = new SlotStore(store, { health: { state: { durable: true } }, watchers, timeoutMs: 50 });
    await slots.slots(OWNER);
    await slots.slots(OWNER, 5);
    slots.storeOpened();
    assert.equal(told, 1);
    await slots.slots(OWNER, 10);
    await slots.slots(OWNER, 11);
    assert.deepEqual(asked, [0, 5, 0, 11]);
  });
});

describe('who watches slots', () => {
  it('is told where the version is another one than at the last look, and at the first look', async () => {
    const versions: Record<string, number> = {};
    let looks = 0;
    const watchers = new SlotListeners({
      versions: async (owners) => {
        looks += 1;
        if (looks === 2) throw storeFailed('the database is gone');
        return Object.fromEntries(owners.map((owner) => [owner, versions[owner] ?? 0]));
      },
      every: 1,
    });
    const told: string[] = [];
    const ends = ['a', 'b'].map((owner) => watchers.add(owner, () => told.push(owner)));
    await eventually(() => looks > 4, 'some looks');
    assert.deepEqual(told, ['a', 'b']);
    versions['b'] = 7;
    await eventually(() => told.length > 2, 'the change');
    assert.deepEqual(told, ['a', 'b', 'b']);
    for (const end of ends) end();
    watchers.close();
  });
});
