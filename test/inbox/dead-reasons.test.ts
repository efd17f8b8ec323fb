import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ListedMessage } from '../../lib/inbox/inbox';
import { HookedInbox, temporaryFolder } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('a list of dead letters says of one', () => {
  let inbox: HookedInbox;
  beforeEach(() => {
    inbox = new HookedInbox(temporaryFolder());
  });
  afterEach(async () => {
    await inbox.close();
    fs.rmSync(inbox.folder, { recursive: true });
  });

  async function onlyLetter(): Promise<ListedMessage> {
    const list = async (): Promise<ListedMessage[]> =>
      (await inbox.list({ state: 'dead', limit: 9 })).messages;
    await eventually(async () => (await list()).length === 1, 'the dead letter');
    return (await list())[0] ?? assert.fail();
  }

  it('that is of no use, why', async () => {
    const { event: _event, envelope: _envelope, ...record } = proven();
    await inbox.accept({ ...record, kind: 'dead-letter', reason: 'too-deep' });
    assert.equal((await onlyLetter()).reason, 'too-deep');
  });

  it('that nothing settled, so, and that it can be had again', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled', maxAttempts: 1, redeliverAfter: 1 });
    await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    const { reason, canRetry } = await onlyLetter();
    assert.deepEqual([reason, canRetry], ['attempts', true]);
  });

  it('that the flow rejected, so', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the delivery');
    await inbox.settle(deliveryId, { action: 'reject' });
    assert.equal((await onlyLetter()).reason, 'rejected');
  });

  for (const [what, damage] of [
    ['none', 'DELETE FROM body'],
    ['another one', `UPDATE body SET bytes = x'7b'`],
  ] as const)
    it(`that it cannot be read where a damaged disk has made its body ${what}`, async () => {
      await inbox.accept(proven());
      await inbox.close();
      const file = new DatabaseSync(path.join(inbox.folder, 'inbox.sqlite'));
      file.exec(damage);
      file.close();
      inbox = new HookedInbox(inbox.folder);
      const taker = new Taker(inbox);
      const { reason, canRetry } = await onlyLetter();
      assert.deepEqual([reason, canRetry, taker.ids], ['unreadable', false, []]);
    });

  it('that it is none, nothing', async () => {
    const taker = new Taker(inbox);
    await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the delivery');
    const {
      messages: [listed],
    } = await inbox.list({ state: 'all', limit: 9 });
    assert.equal(listed !== undefined && 'reason' in listed, false);
  });
});
