import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { InlineInbox } from '../support/inbox/inline-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('what a flow says of an event while the store fails', () => {
  let folder: string;
  let inbox: InlineInbox;
  let taker: Taker;
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20 });
    taker = new Taker(inbox, { handledWhen: 'settled' });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const states = () => {
    const { store } = inbox;
    return store.transaction(() => store.work.list({ state: 'all', limit: 9 })).map(({ state }) => state);
  };

  it('tells of the dead letter that a rejection makes of an event in the inbox', async () => {
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    inbox.fails = true;
    assert.equal(await inbox.settle(deliveryId, { action: 'reject', note: 'no such panel' }), true);
    assert.deepEqual(taker.dead, [{ deliveryId, reason: 'rejected', note: 'no such panel' }]);
    inbox.fails = false;
    await eventually(() => states().join() === 'dead', 'its end in the inbox');
    assert.equal(taker.dead.length, 1);
  });
});
