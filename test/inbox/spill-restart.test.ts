import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { InlineInbox } from '../support/inbox/each-store';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('what is spilled when the process ends', () => {
  let folder: string;
  const inboxes = new Set<InlineInbox>();
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
  });
  afterEach(async () => {
    for (const inbox of inboxes) {
      inbox.fails = false;
      await inbox.close();
    }
    inboxes.clear();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** An inbox whose store fails from the beginning. */
  function failing(spill: string): InlineInbox {
    const inbox = new InlineInbox({ spillFolder: path.join(folder, spill), lookAgain: 20 });
    inboxes.add(inbox);
    inbox.fails = true;
    return inbox;
  }

  async function end(inbox: InlineInbox): Promise<void> {
    inboxes.delete(inbox);
    await inbox.close();
  }

  /** What the disk has of its spill folder is what a kill leaves there, at this moment. */
  function killed(spill: string): InlineInbox {
    fs.cpSync(path.join(folder, spill), path.join(folder, `${spill}-after`), { recursive: true });
    return failing(`${spill}-after`);
  }

  const kept = (spill: string): string =>
    fs
      .readdirSync(path.join(folder, spill), { recursive: true, encoding: 'utf8' })
      .filter((name) => /spill-\d+$/.test(name))
      .map((name) => fs.readFileSync(path.join(folder, spill, name), 'latin1'))
      .join('');

  it('goes to the flow at the next start, though the store fails then too', async () => {
    const former = failing('spill');
    const message = proven();
    const { deliveryId } = await former.accept(message);
    const taker = new Taker(killed('spill'));
    await eventually(() => taker.ids.length === 1, 'the event');
    const [delivery] = taker.deliveries;
    assert.deepEqual(
      [delivery?.deliveryId, delivery?.attempt, delivery?.again, delivery?.message.envelope.messageId],
      [deliveryId, 1, undefined, message.envelope.messageId],
    );
  });

  it('says that it may have been acted on, where the flow had it and nothing was settled', async () => {
    const former = new Taker(failing('spill'), { handledWhen: 'settled' });
    await [...inboxes][0]?.accept(proven());
    await eventually(() => former.ids.length === 1, 'the event');
    const taker = new Taker(killed('spill'), { handledWhen: 'settled' });
    await eventually(() => taker.ids.length === 1, 'the event again');
    assert.deepEqual(
      taker.deliveries.map(({ deliveryId, attempt, again }) => [deliveryId, attempt, again]),
      [[former.deliveries[0]?.deliveryId, 2, 'restart']],
    );
  });

  for (const handledWhen of ['sent', 'settled'] as const) {
    it(`does not come again once it was ${handledWhen}, and is known`, async () => {
      const inbox = failing('spill');
      const former = new Taker(inbox, { handledWhen });
      const message = proven();
      const { deliveryId } = await inbox.accept(message);
      await eventually(() => former.ids.length === 1, 'the event');
      if (handledWhen === 'settled') await inbox.settle(deliveryId, { action: 'done' });
      await eventually(() => kept('spill').includes('"state":"delivered"'), 'its end on the disk');
      const next = killed('spill');
      const taker = new Taker(next, { handledWhen });
      assert.deepEqual(await next.accept(message), { outcome: 'repeat', deliveryId });
      next.fails = false;
      await eventually(() => next.state().durable === true && kept('spill-after') === '', 'its end');
      const { messages: rows } = await next.list({ state: 'all', limit: 9 });
      assert.deepEqual(
        rows.map((row) => [row.deliveryId, row.state, row.messageId]),
        [[deliveryId, 'delivered', message.envelope.messageId]],
      );
      assert.deepEqual(taker.ids, []);
    });
  }

  it('is taken in once, although it was in the inbox already when the process ended', async () => {
    const inbox = failing('spill');
    const taker = new Taker(inbox);
    await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    // Or it would come again, as after a crash.
    await eventually(() => kept('spill').includes('"state":"delivered"'), 'what has become of it');
    fs.cpSync(path.join(folder, 'spill'), path.join(folder, 'copy'), { recursive: true });
    inbox.fails = false;
    await eventually(() => kept('spill') === '', 'its end');
    inbox.configure({ keep: { keys: 7, bodies: 7 }, spillFolder: path.join(folder, 'copy') });
    await eventually(() => kept('copy') === '', 'the end of the copy');
    assert.equal((await inbox.list({ state: 'all', limit: 9 })).messages.length, 1);
    assert.equal(taker.ids.length, 1);
  });

  it('goes to the flow of a process that began before, whatever its own store does', async () => {
    for (const works of [true, false]) {
      const former = failing('spill');
      await former.accept(proven());
      const next = failing('spill');
      next.fails = !works;
      const taker = new Taker(next);
      await next.accept(proven());
      await eventually(() => taker.ids.length === 1, 'its own event');
      await end(former);
      await eventually(() => taker.ids.length === 2, 'the event of the former');
      next.fails = false;
      await eventually(() => next.state().durable === true && kept('spill') === '', 'its end');
      await end(next);
    }
  });

  it('says so while it ends, and afterwards', async () => {
    const inbox = failing('spill');
    await inbox.accept(proven());
    const before = kept('spill');
    const closing = end(inbox);
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    await closing;
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    assert.equal(kept('spill'), before);
  });

  it('is found after a change of the folder that nobody remembers but the register', async () => {
    const store = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-store-'));
    const options = { file: path.join(store, 'inbox.sqlite'), lookAgain: 20 };
    const first = new InlineInbox({ ...options, spillFolder: path.join(folder, 'a') });
    first.fails = true;
    await first.accept(proven());
    await first.close();
    const next = new InlineInbox({ ...options, spillFolder: path.join(folder, 'b') });
    inboxes.add(next);
    const taker = new Taker(next);
    await eventually(() => taker.ids.length === 1, 'the event');
    await eventually(() => kept('a') === '', 'its end');
    fs.rmSync(store, { recursive: true });
  });
});
