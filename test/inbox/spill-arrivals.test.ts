import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { cannotRun } from '../support/suite/programs';
import { InlineInbox } from '../support/inbox/inline-inbox';
import { eventually, soon } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('what arrives while the store fails, and may know it', () => {
  let folder: string;
  let inbox: InlineInbox;
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20 });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  it('overtakes nothing that the store is asked about', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    inbox.isReadable = true;
    const late = inbox.answersLate();
    const [begin, end] = [proven({ alarmId: 'A' }), proven({ alarmId: 'A' })];
    const first = inbox.accept(begin);
    await eventually(() => inbox.state().durable === false, 'the fault');
    const second = inbox.accept(end);
    await turn();
    late.answer();
    await Promise.all([first, second]);
    await eventually(() => taker.ids.length === 2, 'both');
    assert.deepEqual(
      taker.ids,
      [begin, end].map(({ envelope }) => envelope.messageId),
    );
  });

  it('is known as a repeat, of however many that come at once', async () => {
    const taker = new Taker(inbox);
    const messages = Array.from({ length: 3 }, () => proven());
    const known = await Promise.all(messages.map((message) => inbox.accept(message)));
    await eventually(() => taker.ids.length === 3, 'the first of each');
    inbox.fails = true;
    inbox.isReadable = true;
    const again = await Promise.all(messages.map((message) => inbox.accept(message)));
    assert.deepEqual(
      again,
      known.map(({ deliveryId }) => ({ outcome: 'repeat', deliveryId })),
    );
  });

  it('waits for a store that does not answer but once, however many they are', async () => {
    inbox.fails = true;
    inbox.isReadable = true;
    const late = inbox.answersLate();
    const accept = () => inbox.accept(proven());
    const accepting = [accept()];
    await eventually(() => inbox.state().durable === false, 'the fault');
    for (let count = 0; count < 20; count += 1) accepting.push(accept());
    await soon(Promise.all(accepting));
    const oneAfterAnother = async (): Promise<void> => {
      for (let count = 0; count < 20; count += 1) await accept();
    };
    await soon(oneAfterAnother());
    late.answer();
  });

  it('says that it may come twice while what was spilled before is not read yet', async function () {
    if (process.platform === 'win32') cannotRun(this, 'there are no named pipes among its files');
    const spillFolder = path.join(folder, 'slow');
    const left = path.join(spillFolder, '1-0123456789ab');
    fs.mkdirSync(left, { recursive: true });
    // Whoever reads it waits until somebody writes.
    const file = path.join(left, 'spill-1');
    execFileSync('mkfifo', [file]);
    const starting = new InlineInbox({ spillFolder, lookAgain: 20, spillAfter: 30 });
    try {
      const taker = new Taker(starting);
      starting.fails = true;
      starting.isReadable = true;
      assert.equal((await starting.accept(proven())).outcome, 'new');
      await eventually(() => taker.ids.length === 1, 'the event');
      assert.deepEqual(
        taker.deliveries.map(({ first, ended, message: { warnings } }) => [first, ended, warnings]),
        [[null, null, ['not-in-inbox', 'may-repeat']]],
      );
    } finally {
      starting.fails = false;
      await fs.promises.writeFile(file, '');
      await starting.close();
    }
  });
});
