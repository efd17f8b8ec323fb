import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SpillStand } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('an event that a damaged disk has changed', () => {
  const stand = new SpillStand({});

  /** @returns a flow of the inbox, opened anew once that was done to its file while an event waited there */
  async function damaged(sql: string): Promise<Taker> {
    const { folder } = stand.inbox;
    await stand.inbox.accept(proven());
    await stand.end();
    const file = new DatabaseSync(path.join(folder, 'inbox.sqlite'));
    file.exec(sql);
    file.close();
    return new Taker(await stand.works({ folder }));
  }

  for (const [what, damage] of [
    ['its body is none', 'DELETE FROM body'],
    ['its body is another one', `UPDATE body SET bytes = x'7b'`],
    ...['{"kind":', 'null', '7', '[]'].map((facts) => [
      `what stands beside its body is ${facts}`,
      `UPDATE body SET facts = '${facts}'`,
    ]),
  ])
    it(`is a dead letter that cannot be read where ${what}`, async () => {
      const taker = await damaged(damage ?? '');
      await eventually(async () => (await stand.list('dead')).length === 1, 'the dead letter');
      const [letter] = await stand.list('dead');
      assert.deepEqual([letter?.reason, letter?.canRetry, taker.ids], ['unreadable', false, []]);
    });

  it('is delivered where it can be read, whatever else has changed', async () => {
    const taker = await damaged(`UPDATE body SET facts = '{"kind":"event","proof":"hmac"}';
      UPDATE message SET received = 9e15; INSERT INTO meta VALUES ('doubtful-up-to', '1')`);
    await taker.came(1);
    const { warnings, receivedTime } = taker.deliveries[0]?.message ?? assert.fail();
    assert.deepEqual([warnings, receivedTime], [['may-repeat'], '1970-01-01T00:00:00.000Z']);
  });
});
