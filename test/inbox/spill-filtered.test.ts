import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { InlineInbox } from '../support/inbox/each-store';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('an event that is filtered while the store fails', () => {
  let folder: string;
  let inbox: InlineInbox;
  const open = async (): Promise<void> => {
    inbox = new InlineInbox({ folder, spillFolder: path.join(folder, 'spill'), lookAgain: 20 });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
  };
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-filtered-'));
    await open();
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const states = async (): Promise<[string, boolean][]> =>
    (await inbox.list({ state: 'all', limit: 9 })).messages.map(({ state, canRetry }) => [state, canRetry]);

  it('is kept beside it, goes to no flow, and enters the inbox as filtered', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const message = proven({ alarmId: 'one' }, { filteredBy: ['rules'] });
    const { outcome, deliveryId } = await inbox.accept(message);
    const taken = await inbox.accept(proven({ alarmId: 'one' }));
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    await eventually(() => taker.deliveries.length === 1, 'the event that is taken');
    assert.equal(outcome, 'new');
    assert.deepEqual(
      (await states()).filter(([state]) => state === 'filtered'),
      [['filtered', false]],
    );
    inbox.fails = false;
    const isInside = (): boolean => inbox.state().durable === true && inbox.state().spilled === undefined;
    await eventually(isInside, 'the end of what is spilled');
    await inbox.close();
    await open();
    assert.deepEqual(
      (await states()).toSorted(([one], [other]) => one.localeCompare(other)),
      [
        ['delivered', false],
        ['filtered', true],
      ],
    );
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    const { messages } = await inbox.list({ state: 'filtered', history: true, limit: 9 });
    assert.equal(messages[0]?.history?.find(({ step }) => step === 'filtered')?.reason, 'rules');
    assert.deepEqual(
      taker.deliveries.map((delivery) => delivery.deliveryId),
      [taken.deliveryId],
    );
  });
});
