import assert from 'node:assert/strict';
import path from 'node:path';
import type { ListQuery } from '../../lib/inbox/model';
import { folderOfEach } from '../support/inbox/folders';
import { StoreThread } from '../../lib/inbox/sqlite/store-thread';

describe('what is asked of the thread of a store', () => {
  let thread: StoreThread;
  const folder = folderOfEach(() => thread.close());
  beforeEach(() => {
    const ignore = (): void => undefined;
    const news = { onOpened: ignore, onFault: ignore, onWarning: ignore, onSlow: ignore };
    thread = new StoreThread(path.join(folder(), 'inbox.sqlite'), news);
  });

  it('without hurry is done all the same, though nothing else is asked', async () => {
    await thread.call('markDelivered', [], false);
  });

  it('fails alone where it holds what cannot be handed over', async () => {
    const query: ListQuery = { state: 'all', limit: 1 };
    const calls = [
      thread.call('ping', undefined),
      thread.call('list', Object.assign(query, { since: Symbol('no time') })),
      thread.call('ping', undefined),
    ];
    const outcomes = await Promise.allSettled(calls);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
  });

  it('without hurry is done before what is asked after it', async () => {
    const done: string[] = [];
    const calls = [
      thread.call('markDelivered', [], false).then(() => done.push('first')),
      thread.call('ping', undefined).then(() => done.push('second')),
    ];
    await Promise.all(calls);
    assert.deepEqual(done, ['first', 'second']);
  });

  it('without hurry waits for a moment, and then takes what was asked meanwhile with it', async () => {
    await thread.call('ping', undefined);
    let isDone = false;
    const call = thread.call('markDelivered', [], false).then(() => (isDone = true));
    await new Promise(setImmediate);
    await thread.call('ping', undefined);
    assert.ok(isDone);
    await call;
  });

  it('without hurry is done where the thread is closed before it was sent', async () => {
    const call = thread.call('markDelivered', [], false);
    await thread.close();
    await call;
  });
});
