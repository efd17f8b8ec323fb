import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SpillStand } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('a list of dead letters of a damaged disk says of one', () => {
  const stand = new SpillStand({});

  for (const [what, damage] of [
    ['none', 'DELETE FROM body'],
    ['another one', `UPDATE body SET bytes = x'7b'`],
  ] as const)
    it(`that it cannot be read where its body is now ${what}`, async () => {
      const { folder } = stand.inbox;
      await stand.inbox.accept(proven());
      await stand.end();
      const file = new DatabaseSync(path.join(folder, 'inbox.sqlite'));
      file.exec(damage);
      file.close();
      const taker = new Taker(await stand.works({ folder }));
      await eventually(async () => (await stand.list('dead')).length === 1, 'the dead letter');
      const [letter] = await stand.list('dead');
      assert.deepEqual([letter?.reason, letter?.canRetry, taker.ids], ['unreadable', false, []]);
    });
});
