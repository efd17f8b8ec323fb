import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import type { InboxNews } from '../../lib/inbox/store-health';
import { SpillFile } from '../../lib/inbox/spill/spill-file';
import type { NewMessage } from '../../lib/inbox/store/protocol';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { InlineInbox } from '../support/inbox/inline-inbox';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('an inbox whose store fails', () => {
  let folder: string;
  let inbox: InlineInbox;
  let news: InboxNews[];
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    news = [];
    inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20, log: (line) => news.push(line) });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const kinds = () => news.map(({ kind }) => kind);

  it('C-125 spills what arrives, and delivers it in order when the store works again', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const messages = Array.from({ length: 30 }, () => proven());
    for (const message of messages) assert.deepEqual(await inbox.accept(message), { outcome: 'spilled' });
    assert.deepEqual(inbox.state(), { durable: false, fault: 'the disk is gone' });
    assert.deepEqual(taker.ids, []);
    inbox.fails = false;
    await eventually(() => taker.ids.length === 30, 'all deliveries');
    assert.deepEqual(
      taker.ids,
      messages.map(({ envelope }) => envelope.messageId),
    );
    await eventually(() => inbox.state().durable === true, 'the end of the fault');
    await eventually(() => kinds().includes('read-back'), 'the end of reading back');
    assert.deepEqual(kinds(), ['fault', 'spilling', 'read-back']);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('knows a repeat of what it spilled once that is read back, and tells of a conflict then', async () => {
    const taker = new Taker(inbox);
    const message = proven();
    const conflict = proven({}, { messageId: message.envelope.messageId });
    inbox.fails = true;
    for (const each of [message, message, conflict]) await inbox.accept(each);
    inbox.fails = false;
    await eventually(() => taker.readBack.length === 3, 'all three');
    assert.deepEqual(taker.readBack, ['new', 'repeat', 'conflict']);
    assert.equal((await inbox.accept(message)).outcome, 'repeat');
    assert.deepEqual(taker.ids, [message.envelope.messageId]);
  });

  it('rejects what it can neither store nor spill, and says why', async () => {
    inbox.configure({ keep: { keys: 1, bodies: 1 }, spillFolder: path.join(process.execPath, 'spill') });
    inbox.fails = true;
    await assert.rejects(inbox.accept(proven()), {
      code: 'STORE_FAILED',
      message: /the disk is gone; neither can it spill: /,
    });
  });

  it('reads back what was spilled elsewhere before its setting changed', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    await inbox.accept(proven());
    inbox.configure({ keep: { keys: 1, bodies: 1 }, spillFolder: path.join(folder, 'another') });
    await inbox.accept(proven());
    inbox.fails = false;
    await eventually(() => taker.ids.length === 2, 'both');
  });

  it('reads back after a restart what was spilled in a folder that is not set any more', async () => {
    const store = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-store-'));
    const options = { file: path.join(store, 'inbox.sqlite'), lookAgain: 20 };
    const first = new InlineInbox({ ...options, spillFolder: path.join(folder, 'a') });
    await eventually(() => first.state().durable === true, 'the store to be open');
    first.fails = true;
    await first.accept(proven());
    await first.close();
    const next = new InlineInbox({ ...options, spillFolder: path.join(folder, 'b') });
    const taker = new Taker(next);
    await eventually(() => taker.ids.length === 1, 'the event');
    await next.close();
    fs.rmSync(store, { recursive: true });
  });

  it('keeps the order of one alarm: what arrives while something is spilled does not overtake it', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const messages = [proven({ alarmId: 'a' }), proven({ alarmId: 'a' })];
    await inbox.accept(messages[0] ?? proven());
    inbox.fails = false;
    await inbox.accept(messages[1] ?? proven());
    await eventually(() => taker.ids.length === 2, 'both');
    assert.deepEqual(
      taker.ids,
      messages.map(({ envelope }) => envelope.messageId),
    );
    assert.deepEqual(
      taker.deliveries.map(({ first }) => first),
      [true, false],
    );
  });

  it('lets nothing overtake what is being read back', async () => {
    const end = proven({ alarmId: 'a', eventEndTime: '2026-03-04T05:06:07' });
    let ending: Promise<unknown> | undefined;
    const taker = new Taker(inbox, {
      onReadBack: () => {
        ending ??= inbox.accept(end);
      },
    });
    inbox.fails = true;
    for (let i = 0; i < 150; i += 1) await inbox.accept(proven());
    const start = proven({ alarmId: 'a' });
    await inbox.accept(start);
    inbox.fails = false;
    await eventually(() => taker.ids.length === 152, 'all of them');
    await ending;
    const ids = [start, end].map(({ envelope }) => envelope.messageId);
    assert.deepEqual(taker.ids.slice(-2), ids);
    assert.deepEqual(
      taker.deliveries.slice(-2).map(({ first }) => first),
      [true, false],
    );
  });

  it('spills what a slow store does not take in time, and delivers it once all the same', async () => {
    await inbox.close();
    inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20, spillAfter: 0 });
    const taker = new Taker(inbox);
    const message = proven();
    await eventually(() => inbox.state().durable === true, 'the store to be open');
    await inbox.accept(message);
    await eventually(() => taker.ids.length === 1, 'the delivery');
    await eventually(() => fs.readdirSync(folder).length === 0, 'the spill folder to be empty');
    assert.deepEqual(taker.ids, [message.envelope.messageId]);
  });
});

describe('the spill file', () => {
  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  async function read(spill: SpillFile): Promise<NewMessage[]> {
    const messages: NewMessage[] = [];
    await spill.readBack(async (some) => messages.push(...some) > 0);
    return messages;
  }

  it('gives back exactly what was put in, over a restart, and is empty then', async () => {
    const messages = [proven({ eventName: 'Ærø\n港' }), proven()].map(newMessage);
    const spill = new SpillFile(folder);
    await Promise.all(messages.map((message) => spill.append(message)));
    await spill.close();
    assert.deepEqual(await read(new SpillFile(folder)), messages);
    assert.deepEqual(await read(new SpillFile(folder)), []);
  });

  it('C-129 keeps what is put in while it is read back, by this process or another one on the folder', async () => {
    const [first, ...later] = Array.from({ length: 3 }, () => newMessage(proven()));
    assert.ok(first !== undefined);
    const writer = new SpillFile(folder);
    await writer.append(first);
    const reader = new SpillFile(folder);
    const taken: NewMessage[] = [];
    await reader.readBack(async (messages) => {
      taken.push(...messages);
      for (const message of later) await writer.append(message);
      return true;
    });
    assert.deepEqual([...taken, ...(await read(reader))], [first, ...later]);
    await writer.close();
  });

  it('keeps what could not be taken', async () => {
    const spill = new SpillFile(folder);
    await spill.append(newMessage(proven()));
    await assert.rejects(
      spill.readBack(async () => {
        throw new Error('not now');
      }),
      /not now/,
    );
    await spill.append(newMessage(proven()));
    assert.equal((await read(spill)).length, 2);
  });

  it('keeps under another name what was refused, so that it stops nothing behind it', async () => {
    const spill = new SpillFile(folder);
    const messages = [proven(), proven()].map(newMessage);
    for (const message of messages) {
      await spill.append(message);
      await spill.close();
    }
    await spill.readBack(async ([message]) => message?.id !== messages[0]?.id);
    assert.deepEqual(fs.readdirSync(folder), ['spill-1.refused']);
  });

  it('cuts off a frame that a crash has torn, anywhere, and keeps those before it', async () => {
    const spill = new SpillFile(folder);
    const messages = [proven(), proven(), proven()].map(newMessage);
    const ends: number[] = [];
    for (const message of messages) {
      await spill.append(message);
      ends.push(fs.statSync(path.join(folder, 'spill-1')).size);
    }
    await spill.close();
    const whole = fs.readFileSync(path.join(folder, 'spill-1'));
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length), async (length) => {
        fs.writeFileSync(path.join(folder, 'spill-1'), whole.subarray(0, length));
        const left = messages.slice(0, ends.filter((end) => end <= length).length);
        assert.deepEqual(await read(new SpillFile(folder)), left);
      }),
      { numRuns: 60 },
    );
  });

  it('takes nothing from a frame whose bytes have changed, and keeps the file', async () => {
    const spill = new SpillFile(folder);
    const message = newMessage(proven());
    await spill.append(message);
    await spill.close();
    const whole = fs.readFileSync(path.join(folder, 'spill-1'));
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const changed = Buffer.from(whole);
        changed[at] = (changed[at] ?? 0) ^ flip;
        fs.writeFileSync(path.join(folder, 'spill-1'), changed);
        assert.deepEqual(await read(new SpillFile(folder)), []);
        assert.deepEqual(fs.readdirSync(folder), ['spill-1.damaged']);
      }),
      { numRuns: 60 },
    );
  });
});
