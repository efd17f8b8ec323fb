import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import fsPromises, { type FileHandle } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import * as fc from 'fast-check';
import { SPILL_REGISTER } from '../../lib/inbox/spare/spare-folder';
import { fail } from '../support/inbox/each-store';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { runsOf } from '../support/suite/lanes';
import { cannotRun } from '../support/suite/programs';
import { eventually, replaceMethod, soon } from '../support/time/patience';
import { allSettled, proven, Taker } from './samples';

/** What a file of frames would have of a content, whatever that is. */
function checked(content: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length, 0);
  head.writeUInt32BE(zlib.crc32(content), 4);
  return Buffer.concat([head, Buffer.from(content)]);
}

describe('the spill files of an inbox whose store fails', () => {
  const stand = new SpillStand();
  const failing = (folder?: string): HookedInbox => stand.open({ fails: true, ...(folder && { folder }) });
  const spillOf = ({ folder }: HookedInbox, ...more: string[]): string => path.join(folder, 'spill', ...more);
  const read = (files: readonly string[]): string =>
    files.map((file) => fs.readFileSync(file, 'latin1')).join('');
  const keeping = (spillFolder: string) => ({ keep: { keys: 7, bodies: 7 }, spillFolder });

  /** Kills it, and opens what it leaves; the store fails then, too. */
  const killed = (inbox = stand.inbox): HookedInbox => failing(inbox.image());

  async function accept(count: number, inbox = stand.inbox): Promise<string[]> {
    const accepted: string[] = [];
    for (let sent = 0; sent < count; sent += 1) accepted.push((await inbox.accept(proven())).deliveryId);
    return accepted;
  }

  /** The files that an ended process has left of some events, and their ids. */
  async function left(count: number): Promise<{ ids: string[]; bytes: Buffer; ends: number[] }> {
    const inbox = failing();
    const [ids, ends]: [string[], number[]] = [[], []];
    for (let sent = 0; sent < count; sent += 1) {
      ids.push(...(await accept(1, inbox)));
      ends.push(read(stand.files(inbox)).length);
    }
    return { ids, bytes: Buffer.from(read(stand.files(inbox)), 'latin1'), ends };
  }

  /** Puts a file where a process that has ended would have left it. @returns it */
  function leave(folder: string, bytes: Uint8Array, number = 1): string {
    const ofProcess = path.join(folder, 'spill', `${number}-1-${'b'.repeat(12)}`);
    fs.mkdirSync(ofProcess, { recursive: true });
    fs.writeFileSync(path.join(ofProcess, 'spill-1'), bytes);
    return path.join(ofProcess, 'spill-1');
  }

  const newFolder = (): string => fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-left-'));

  /** What a flow gets of a file, and what is left of it when the store works again. */
  async function given(bytes: Uint8Array): Promise<{ ids: string[]; kept: Buffer[] }> {
    const folder = newFolder();
    leave(folder, bytes);
    const inbox = failing(folder);
    const taker = new Taker(inbox);
    const { deliveryId } = await taker.takes();
    await stand.mend(inbox);
    await allSettled(inbox);
    const kept = stand.news.splice(0).flatMap((news) => (news.kind === 'left' ? news.file : []));
    const contents = kept.map((file) => fs.readFileSync(file));
    await stand.end(inbox);
    return { ids: taker.deliveryIds.filter((id) => id !== deliveryId), kept: contents };
  }

  it('give an event to the flow at the next start exactly as it came, though the store fails then too', async () => {
    const message = proven({ eventName: 'Ærø\n港' });
    const { deliveryId } = await failing().accept(message);
    const taker = new Taker(killed());
    await taker.came(1);
    assert.deepEqual(taker.told, [[deliveryId, 1, undefined]]);
    const { body, envelope } = taker.deliveries[0]?.message ?? assert.fail();
    assert.deepEqual([Buffer.from(body), envelope], [message.body, message.envelope]);
    await stand.mend();
  });

  for (const handledWhen of ['sent', 'settled'] as const)
    it(`give it no more once it was ${handledWhen}, and it is known`, async () => {
      const inbox = failing();
      const message = proven();
      const { deliveryId } = await new Taker(inbox, { handledWhen }).takes(message);
      if (handledWhen === 'settled') await inbox.settle(deliveryId, { action: 'done' });
      await eventually(() => read(stand.files()).includes('"state":"delivered"'), 'its end on the disk');
      const next = killed();
      const taker = new Taker(next, { handledWhen });
      assert.deepEqual(await next.accept(message), { outcome: 'repeat', deliveryId });
      await stand.mend();
      const rows = await stand.list();
      assert.deepEqual(
        rows.map((row) => [row.deliveryId, row.state, row.messageId]),
        [[deliveryId, 'delivered', message.envelope.messageId]],
      );
      assert.deepEqual(taker.ids, []);
    });

  it('say how an event in the inbox has ended, where a kill came before the store could be told', async () => {
    const inbox = await stand.works();
    const { deliveryId } = await new Taker(inbox, { handledWhen: 'settled' }).takes();
    inbox.fails = true;
    await inbox.settle(deliveryId, { action: 'reject', note: 'no such panel' });
    const taker = new Taker(stand.open({ folder: inbox.image() }));
    await stand.mend();
    assert.deepEqual([await stand.stateOf(deliveryId), taker.ids], ['dead', []]);
  });

  it('are taken in once, although all was in the inbox already when the process ended', async () => {
    const inbox = failing();
    const taker = new Taker(inbox);
    await taker.takes();
    // Or it would come again, as after a crash.
    await eventually(() => read(stand.files()).includes('"state":"delivered"'), 'what has become of it');
    const copy = path.join(inbox.folder, 'copy');
    fs.cpSync(spillOf(inbox), path.join(copy, 'spill'), { recursive: true });
    await stand.mend();
    inbox.configure(keeping(path.join(copy, 'spill')));
    await eventually(() => stand.files({ folder: copy }).length === 0, 'the end of the copy');
    assert.deepEqual([(await stand.list()).length, taker.ids.length], [1, 1]);
  });

  it('C-129 of a process that lives are its own, and of one that has ended go to one that began before, whatever its own store does', async () => {
    for (const works of [true, false]) {
      const former = failing();
      await accept(1);
      const spillFolder = spillOf(former);
      const others = [works, true].map((isWell) => stand.open({ fails: !isWell, spillFolder }));
      const takers = others.map((inbox) => new Taker(inbox));
      for (const taker of takers) await taker.takes();
      await stand.end(former);
      const count = (): number => takers.reduce((sum, { ids }) => sum + ids.length, 0);
      await eventually(() => count() === 3, 'the event of the former');
      for (const inbox of others) inbox.fails = false;
      await eventually(() => stand.files(former).length === 0, 'its end');
      assert.equal(count(), 3);
      for (const inbox of others) await stand.end(inbox);
    }
  });

  it('stay as they are where something comes while the inbox ends, and afterwards: that is refused', async () => {
    const inbox = failing();
    await accept(1);
    const before = read(stand.files());
    const closing = inbox.close();
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    await closing;
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    assert.equal(read(stand.files()), before);
  });

  it('are found after a change of the folder that nobody remembers but the register', async () => {
    const inbox = failing();
    await accept(1);
    await inbox.close();
    const next = stand.open({ folder: inbox.folder, spillFolder: path.join(inbox.folder, 'b') });
    const taker = new Taker(next);
    await taker.came(1);
    await stand.mend();
  });

  it('of several processes come in the order in which these began to write, wherever that was', async () => {
    const folders = ['b', 'a', 'c'].map((name) => path.join(failing().folder, name));
    const ids: string[] = [];
    for (let count = 0; count < 12; count += 1) {
      const writer = stand.open({ fails: true, spillFolder: folders[count % 3] ?? '' });
      ids.push(...(await accept(1)));
      await writer.close();
      const begun = Date.now();
      await eventually(() => Date.now() !== begun, 'the next millisecond');
    }
    const folder = newFolder();
    fs.writeFileSync(path.join(folder, SPILL_REGISTER), JSON.stringify(folders));
    const taker = new Taker(failing(folder));
    await taker.came(12);
    assert.deepEqual(taker.deliveryIds, ids);
  });

  it('of a process come after those that are there, though the clock was put back meanwhile', async () => {
    const former = await left(1);
    const { folder } = failing();
    leave(folder, former.bytes, Date.now() + 10 ** 9);
    const ids = await accept(1);
    const taker = new Taker(killed());
    await taker.came(2);
    assert.deepEqual(taker.deliveryIds, [...former.ids, ...ids]);
  });

  it('are files: a pipe or a link of such a name is left alone', async function () {
    if (process.platform === 'win32') cannotRun(this, 'there are no pipes in folders');
    const [former, other] = [await left(1), await left(1)];
    const folder = newFolder();
    const ofProcess = path.dirname(leave(folder, former.bytes));
    const pipe = path.join(ofProcess, 'spill-2');
    execFileSync('mkfifo', [pipe]);
    fs.writeFileSync(path.join(folder, 'other'), other.bytes);
    fs.symlinkSync(path.join(folder, 'other'), path.join(ofProcess, 'spill-3'));
    const inbox = failing(folder);
    const taker = new Taker(inbox);
    try {
      await soon(taker.came(1));
      assert.deepEqual(taker.deliveryIds, former.ids);
    } finally {
      // Whoever reads it comes to its end.
      fs.closeSync(fs.openSync(pipe, fs.constants.O_RDWR | fs.constants.O_NONBLOCK));
    }
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    assert.deepEqual(fs.readdirSync(ofProcess).sort(), ['spill-2', 'spill-3']);
  });

  it('that are still needed stay, and those behind them', async () => {
    const inbox = failing();
    await accept(1);
    let brought = 0;
    // The first is refused each of the two times that it is offered.
    inbox.hook = (name, act) => (name === 'bring' && (brought += 1) <= 2 ? fail() : act());
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    inbox.fails = true;
    const [next = ''] = await accept(1);
    inbox.fails = false;
    await eventually(async () => inbox.state().spilled === 1 && brought === 3, 'the second in the inbox');
    assert.equal(await stand.stateOf(next), 'received');
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    assert.equal(stand.files().length, 2);
  });

  it('of which one cannot be removed stay, with those behind it, until it can be, and nothing comes again of them', async () => {
    const former = await left(1);
    const folder = newFolder();
    const first = leave(folder, former.bytes);
    const inbox = failing(folder);
    const taker = new Taker(inbox);
    await taker.takes();
    await eventually(() => /"state":"delivered"/.test(read(stand.files().slice(1))), 'its end on the disk');
    const both = stand.files();
    assert.deepEqual([both.length, taker.ids.length], [2, 2]);
    const restore = replaceMethod<typeof fsPromises>(fsPromises, 'unlink', (unlink) => async (file) => {
      if (file === first) throw new Error('it is busy');
      return Reflect.apply(unlink, fsPromises, [file]);
    });
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    assert.deepEqual(stand.files(), both);
    restore();
    const next = stand.open({ folder: inbox.image() });
    const again = new Taker(next);
    await stand.mend(next);
    assert.deepEqual(again.ids, []);
    assert.ok(!stand.news.some(({ kind }) => kind === 'left'));
  });

  it('that somebody else has removed keep none behind them', async () => {
    const former = await left(1);
    const folder = newFolder();
    const first = leave(folder, former.bytes);
    failing(folder);
    await accept(1);
    fs.unlinkSync(first);
    await stand.mend();
  });

  it('end before a frame that a crash has torn, anywhere, and keep those before it', async () => {
    const { ids, bytes, ends } = await left(3);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length), async (length) => {
        const expected = ids.slice(0, ends.filter((end) => end <= length).length);
        assert.deepEqual((await given(bytes.subarray(0, length))).ids, expected);
      }),
      { numRuns: runsOf(40) },
    );
  });

  for (const [what, tail] of [
    ['fewer zeros than the head of a frame has bytes', Buffer.alloc(5)],
    ['zeros', Buffer.alloc(4096)],
    ['a head that promises more than there is', Buffer.from('00ffffff00000000', 'hex')],
    ['a frame whose checksum is right, and which is none', checked('no JSON')],
    ['a frame of one line that is no object', checked('null\n')],
    ['a frame of one line that says of no kind what it is', checked('{"deliveryId":"a"}\n')],
  ] as const)
    it(`give what stands before ${what}, as a power loss may leave it, and keep the rest under another name`, async () => {
      const { ids, bytes } = await left(1);
      const changed = Buffer.concat([bytes, tail]);
      assert.deepEqual(await given(changed), { ids, kept: [changed] });
    });

  it('give what stands before any bytes that a power loss may leave', async () => {
    const { ids, bytes } = await left(1);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (tail) => {
        assert.deepEqual((await given(Buffer.concat([bytes, tail]))).ids, ids);
      }),
      { numRuns: runsOf(40) },
    );
  });

  it('give nothing of a frame whose bytes have changed, and are kept under another name', async () => {
    const { bytes } = await left(1);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ flip;
        assert.deepEqual(await given(changed), { ids: [], kept: [changed] });
      }),
      { numRuns: runsOf(40) },
    );
  });

  it('of a folder that cannot be read keep no others from being read, and are read once they can be', async () => {
    const [former, late] = [await left(1), await left(1)];
    const folder = newFolder();
    leave(folder, former.bytes);
    const unreadable = path.join(folder, 'spill', `2-1-${'b'.repeat(12)}`);
    fs.writeFileSync(unreadable, 'no folder');
    const taker = new Taker(failing(folder));
    await taker.came(1);
    fs.unlinkSync(unreadable);
    leave(folder, late.bytes, 2);
    await taker.came(2);
    assert.deepEqual(taker.deliveryIds, [...former.ids, ...late.ids]);
  });

  for (const [title, act] of [
    ['is removed', (file: string) => fs.rmSync(file)],
    ['is renamed', (file: string) => fs.renameSync(file, path.join(path.dirname(file), 'away'))],
    [
      'is removed with its folder, which is there again',
      (file: string) => {
        fs.rmSync(path.dirname(file), { recursive: true });
        fs.mkdirSync(path.dirname(file));
      },
    ],
    ['is removed with the spill folder', () => fs.rmSync(spillOf(stand.inbox), { recursive: true })],
  ] as const)
    it(`are followed by another one where one ${title}: nobody would find what is written to it`, async () => {
      failing();
      await accept(1);
      act(stand.files()[0] ?? '');
      const ids = await accept(1);
      const taker = new Taker(killed());
      await taker.came(1);
      assert.deepEqual(taker.deliveryIds, ids);
    });

  it('are written on after writes that failed, each of which leaves nothing', async () => {
    failing();
    const before = await accept(1);
    const restore = await diskIsFull('datasync');
    // Longer than what follows.
    const message = proven({ eventName: 'x'.repeat(9000) });
    for (let count = 0; count < 20; count += 1) await assert.rejects(stand.inbox.accept(message), /no space/);
    restore();
    const ids = [...before, ...(await accept(1))];
    assert.equal(stand.files().length, 1);
    assert.deepEqual(await given(fs.readFileSync(stand.files()[0] ?? '')), { ids, kept: [] });
  });

  it('are not there where their name could not be kept', async function () {
    if (process.platform === 'win32') cannotRun(this, 'there is no sync of a folder');
    failing();
    const restore = await diskIsFull('sync');
    for (let count = 0; count < 20; count += 1) await assert.rejects(accept(1), /no space/);
    restore();
    assert.deepEqual(stand.files(), []);
  });
});

/** From now on the disk is full for each file that is synced. @returns the way to end that */
async function diskIsFull(name: 'datasync' | 'sync'): Promise<() => void> {
  const probe = await fsPromises.open(__filename);
  const prototype: FileHandle = Object.getPrototypeOf(probe);
  await probe.close();
  return replaceMethod(prototype, name, () => () => Promise.reject(new Error('no space')));
}
