import assert from 'node:assert/strict';
import path from 'node:path';
import { StatementSync } from 'node:sqlite';
import { SLICE } from '../../lib/inbox/sqlite/lists';
import { Store } from '../../lib/inbox/sqlite/store';
import { StoreThread } from '../../lib/inbox/sqlite/store-thread';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { folderOfEach } from '../support/inbox/folders';
import { replaceMethod } from '../support/time/patience';
import { proven } from './samples';

const SLICES = 6;
/** Of as many others each, the last of all among them. */
const EVERY = SLICE - 1;

describe('a search by site among more messages than one look takes', () => {
  let wanted: string[];
  const folder = folderOfEach();
  const file = (): string => path.join(folder(), 'inbox.sqlite');

  beforeEach(() => {
    const store = new Store({ file: file(), resumed: false });
    const [north, south] = ['north', 'south'].map((locationId) => newMessage(proven({ locationId })));
    assert.ok(north && south);
    const at = (index: number) => (index % EVERY === 0 ? north : south);
    wanted = store.transaction(() =>
      Array.from({ length: SLICES * SLICE }, (_, index) => {
        const message = { ...at(index), id: `message ${index}`, received: Math.floor(index / 5) };
        const { deliveryId } = store.work.accept({ message, lease: 'no' });
        return at(index) === north ? [deliveryId] : [];
      }).flat(),
    );
    store.close();
  });

  it('finds those of all slices, as many as are asked for, in their order', () => {
    const store = new Store({ file: file(), resumed: false });
    const places = { sites: ['north'] };
    const idsOf = (give: () => readonly { deliveryId: string }[]): string[] =>
      store.transaction(give).map(({ deliveryId }) => deliveryId);
    const list = (limit: number, state: 'open' | 'all' = 'open') =>
      idsOf(() => store.work.list({ state, limit, ...places })).toReversed();
    const page = (limit: number) => {
      const period = { since: 0, until: Number.MAX_SAFE_INTEGER, bodies: false, steps: false };
      return idsOf(() => store.work.page({ state: 'all', limit, ...period, ...places }));
    };
    const found = [list(99), list(99, 'all'), page(99), list(3), page(3)];
    store.close();
    assert.deepEqual(found, [wanted, wanted, wanted, wanted.slice(-3), wanted.slice(0, 3)]);
  });

  it('walks but once through the index of what is open, which is in no order of time', () => {
    const store = new Store({ file: file(), resumed: false });
    let walks = 0;
    const end = replaceMethod<StatementSync>(StatementSync.prototype, 'all', (former) => {
      return function all(...values) {
        walks += Number(this.sourceSQL.includes('INDEXED BY message_open'));
        return Reflect.apply(former, this, values);
      };
    });
    store.transaction(() => store.work.list({ state: 'open', limit: 99, sites: ['south', 'north'] }));
    store.transaction(() => store.work.list({ state: 'open', limit: 99, sites: ['elsewhere'] }));
    end();
    store.close();
    assert.equal(walks, 2);
  });

  it('lets events be stored between two looks', async () => {
    const ignore = (): void => undefined;
    const news = { onOpened: ignore, onFault: ignore, onWarning: ignore, onSlow: ignore };
    const thread = new StoreThread(file(), news);
    await thread.call('ping', undefined);
    const ended: string[] = [];
    const take = { state: 'all', limit: 99, sites: ['north'] } as const;
    const searches = [thread.call('list', take), thread.call('list', take)].map(async (search) => {
      const messages = await search;
      ended.push('search');
      assert.equal(messages.length, wanted.length);
    });
    await new Promise(setImmediate);
    for (let count = 0; count < 3; count += 1) {
      await thread.call('accept', { message: newMessage(proven()), lease: 'no' });
      ended.push('event');
    }
    await Promise.all(searches);
    await thread.close();
    assert.deepEqual(ended, ['event', 'event', 'event', 'search', 'search']);
  });
});
