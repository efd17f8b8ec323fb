import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { SpillStore } from '../../lib/inbox/spill/spill-store';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { InlineInbox } from '../support/inbox/each-store';
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

  it('says that it may come twice while what was spilled before is not read yet', async () => {
    let isLoaded = false;
    const segment = { file: 'spill-1', keptAs: 'spill-1', bytes: 0, isDamaged: false };
    const store = new SpillStore({
      append: async () => ({ segment, at: 0, length: 1 }),
      isLoaded: () => isLoaded,
      atWork: () => new Set(),
      waits: () => undefined,
      restored: () => undefined,
      nodeOf: () => undefined,
      endpointOf: () => undefined,
    });
    const accepted = async (): Promise<unknown> => {
      const known = { outcome: 'new', first: true, ended: false } as const;
      const { spilled } = await store.accept({ message: newMessage(proven()), lease: 'no', known });
      return [spilled?.first, spilled?.ended, spilled?.mayRepeat];
    };
    assert.deepEqual(await accepted(), [null, null, true]);
    isLoaded = true;
    assert.deepEqual(await accepted(), [true, false, false]);
  });
});
