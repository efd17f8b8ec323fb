import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ListedMessage } from '../../lib/inbox/inbox';
import { HookedInbox } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('a list of dead letters of a damaged disk says of one', () => {
  let inbox: HookedInbox;
  beforeEach(() => {
    inbox = new HookedInbox();
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

  for (const [what, damage] of [
    ['none', 'DELETE FROM body'],
    ['another one', `UPDATE body SET bytes = x'7b'`],
  ] as const)
    it(`that it cannot be read where its body is now ${what}`, async () => {
      await inbox.accept(proven());
      await inbox.close();
      const file = new DatabaseSync(path.join(inbox.folder, 'inbox.sqlite'));
      file.exec(damage);
      file.close();
      inbox = new HookedInbox({ folder: inbox.folder });
      const taker = new Taker(inbox);
      const { reason, canRetry } = await onlyLetter();
      assert.deepEqual([reason, canRetry, taker.ids], ['unreadable', false, []]);
    });
});
