import assert from 'node:assert/strict';
import { StatementSync } from 'node:sqlite';
import path from 'node:path';
import type { StorePort } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import type { ProvenMessage } from '../../lib/message/record';
import { folderOfEach, inboxIn } from '../support/inbox/folders';
import { ServedStore } from '../support/inbox/served-store';
import { replaceMethod, eventually } from '../support/time/patience';
import { proven } from './samples';

const SQLITE_FULL = 13;

/** From now on the disk has no room for bodies and slots. @returns the way to end that */
function fillDisk(): () => void {
  return replaceMethod<StatementSync>(StatementSync.prototype, 'run', (former) => {
    return function run(...values) {
      if (/INSERT INTO (body|slot)\b/.test(this.sourceSQL))
        throw Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL });
      return Reflect.apply(former, this, values);
    };
  });
}

describe('a store whose disk is full', () => {
  let store: ServedStore;
  let makeRoom: () => void;
  const folder = folderOfEach(() => {
    makeRoom();
    return store.close();
  });
  beforeEach(() => {
    makeRoom = () => undefined;
    store = new ServedStore(path.join(folder(), 'inbox.sqlite'), {
      onOpened: () => undefined,
      onFault: () => undefined,
      onWarning: () => undefined,
      onSlow: () => undefined,
    });
  });

  const accept = () => store.call('accept', { message: newMessage(proven()), lease: 'no' });

  it('lists what it has, and tells what it knows, also together with what it cannot store', async () => {
    const message = newMessage(proven());
    const { deliveryId } = await store.call('accept', { message, lease: 'no' });
    makeRoom = fillDisk();
    const asked = [
      accept(),
      store.call('list', { state: 'all', limit: 9 }),
      store.call('quarantinedSums', undefined),
      store.call('look', message),
    ] as const;
    const [accepting, listing, summing, looking] = await Promise.allSettled(asked);
    assert.equal(accepting.status, 'rejected');
    assert.match(String(accepting.reason), /the disk is full: make room/);
    assert.ok(
      listing.status === 'fulfilled' && summing.status === 'fulfilled' && looking.status === 'fulfilled',
    );
    assert.deepEqual(
      listing.value.map((row) => [row.deliveryId, row.bytes?.byteLength]),
      [[deliveryId, message.bytes.byteLength]],
    );
    assert.deepEqual([summing.value, looking.value.outcome], [[], 'repeat']);
  });

  it('is no store that refuses: it takes what was spilled as soon as there is room, and it is known until then', async () => {
    makeRoom = fillDisk();
    const spilling = path.join(folder(), 'spilling');
    let brought = 0;
    const inbox = inboxIn(spilling, {
      lookAgain: 20,
      open: (news) => {
        const served = new ServedStore(path.join(spilling, 'inbox.sqlite'), news);
        const call: StorePort['call'] = (name, take) => {
          if (name === 'bring') brought += 1;
          return served.call(name, take);
        };
        return { call, close: () => served.close() };
      },
    });
    try {
      const messages = [proven(), proven()];
      // A busy machine may take long to open the spare, and memory is in this process, of which the disk is full.
      const isAccepted = (message: ProvenMessage): Promise<boolean> =>
        inbox.accept(message).then(
          () => true,
          () => false,
        );
      for (const message of messages) await eventually(() => isAccepted(message), 'the spare');
      const tries = brought;
      // One that is refused is tried twice, and again after a minute.
      await eventually(() => brought > tries + 8, 'more tries than those');
      for (const message of messages) assert.equal((await inbox.accept(message)).outcome, 'repeat');
      const { durable, fault } = inbox.state();
      assert.equal(durable, false);
      assert.match(String(fault), /the disk is full/);
      makeRoom();
      await eventually(() => inbox.state().spilled === undefined, 'both in the inbox');
      assert.equal((await inbox.list({ state: 'all', limit: 9 })).messages.length, 2);
    } finally {
      await inbox.close();
    }
  });

  it('gives the slots that it has, takes no other, and takes them again when there is room', async () => {
    const put = (value: string) => store.call('putSlots', { owner: 'o', writes: [{ name: 'a', value }] });
    const read = async () =>
      (await store.call('slots', { owner: 'o', since: 0 })).slots.map(({ value }) => value);
    await put('1');
    makeRoom = fillDisk();
    const [putting, reading] = await Promise.allSettled([put('2'), read()]);
    assert.equal(putting.status, 'rejected');
    assert.match(String(putting.reason), /the disk is full: make room/);
    assert.deepEqual(reading.status === 'fulfilled' && reading.value, ['1']);
    makeRoom();
    await put('3');
    assert.deepEqual(await read(), ['3']);
  });
});
