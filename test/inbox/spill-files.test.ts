import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Delivery } from '../../lib/inbox/model';
import { SPILL_REGISTER } from '../../lib/inbox/spare/spare-folder';
import { StoreThread } from '../../lib/inbox/sqlite/store-thread';
import { damagePage } from '../support/inbox/broken-files';
import { fail, pass } from '../support/inbox/each-store';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, PATIENCE, replaceMethod } from '../support/time/patience';
import { allSettled, proven, Taker } from './samples';

describe('the spares of an inbox whose store fails', () => {
  const stand = new SpillStand();
  const failing = (folder?: string): HookedInbox => stand.open({ fails: true, ...(folder && { folder }) });
  const spillOf = ({ folder }: HookedInbox, ...more: string[]): string => path.join(folder, 'spill', ...more);
  const keeping = (spillFolder: string) => ({ keep: { keys: 7, bodies: 7 }, spillFolder });

  /** Kills it, and opens what it leaves; the store fails then, too. */
  const killed = (inbox = stand.inbox): HookedInbox => failing(inbox.image());

  async function accept(count: number, inbox = stand.inbox): Promise<string[]> {
    const accepted: string[] = [];
    for (let sent = 0; sent < count; sent += 1) accepted.push((await inbox.accept(proven())).deliveryId);
    return accepted;
  }

  const newFolder = (): string => fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-left-'));

  /** Puts there what a process that was killed has left of some events. @returns their ids */
  async function leave(folder: string, count: number, number = 1): Promise<string[]> {
    const inbox = failing();
    const ids = await accept(count, inbox);
    const ofProcess = path.join(folder, 'spill', `${number}-1-${'b'.repeat(12)}`);
    fs.cpSync(path.dirname(stand.files(inbox)[0] ?? ''), ofProcess, { recursive: true });
    await stand.end(inbox);
    return ids;
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
      await eventually(async () => (await stand.stateOf(deliveryId)) === 'delivered', 'its end on the disk');
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
    const { deliveryId } = await taker.takes();
    // Or it would come again, as after a crash.
    await eventually(async () => (await stand.stateOf(deliveryId)) === 'delivered', 'what has become of it');
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

  it('take nothing that comes while the inbox ends, or afterwards: that is refused', async () => {
    const inbox = failing();
    const ids = await accept(1);
    const closing = inbox.close();
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    await closing;
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    const taker = new Taker(failing(inbox.folder));
    await taker.takes();
    assert.deepEqual(taker.deliveryIds.slice(0, -1), ids);
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
    const folder = newFolder();
    const former = await leave(folder, 1, Date.now() + 10 ** 9);
    failing(folder);
    const ids = await accept(1);
    const taker = new Taker(killed());
    await taker.came(2);
    assert.deepEqual(taker.deliveryIds, [...former, ...ids]);
  });

  it('that cannot be removed stay, and nothing comes again of them', async () => {
    const inbox = failing();
    const taker = new Taker(inbox);
    await taker.takes();
    const restore = replaceMethod<typeof fs>(fs, 'rmSync', () => () => {
      throw new Error('it is busy');
    });
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true, 'an inbox that works');
    const image = inbox.image();
    restore();
    assert.equal(stand.files(inbox).length, 1);
    const again = new Taker(stand.open({ folder: image }));
    await stand.mend();
    assert.deepEqual(again.ids, []);
  });

  it('that cannot be read keep no others from being read, and are read once they can be', async () => {
    const folder = newFolder();
    const former = await leave(folder, 1);
    const unreadable = path.join(folder, 'spill', `2-1-${'b'.repeat(12)}`);
    fs.writeFileSync(unreadable, 'no folder');
    const taker = new Taker(failing(folder));
    await taker.came(1);
    const other = newFolder();
    const late = await leave(other, 1, 2);
    fs.unlinkSync(unreadable);
    fs.renameSync(unreadable.replace(folder, other), unreadable);
    await taker.came(2);
    assert.deepEqual(taker.deliveryIds, [...former, ...late]);
  });

  it('are written on after writes that failed', async () => {
    const inbox = failing();
    const before = await accept(1);
    inbox.spareHook = fail;
    for (let count = 0; count < 20; count += 1)
      await assert.rejects(accept(1), { code: 'STORE_FAILED', message: /neither can it spill/ });
    inbox.spareHook = pass;
    const ids = [...before, ...(await accept(1))];
    assert.equal(stand.files().length, 1);
    const taker = new Taker(killed(), { maxInFlight: 100 });
    // With those that were in memory meanwhile.
    await taker.came(22);
    assert.deepEqual([taker.deliveryIds[0], taker.deliveryIds[21]], ids);
  });

  describe('in threads of their own', () => {
    const inThread = (folder?: string): HookedInbox =>
      stand.open({
        fails: true,
        timeoutMs: PATIENCE,
        openSpare: (file, news) => new StoreThread(file, news, { isSpare: true }),
        ...(folder && { folder }),
      });

    for (const [title, act] of [
      ['is removed', (file: string) => fs.rmSync(file)],
      ['is renamed', (file: string) => fs.renameSync(file, path.join(path.dirname(file), 'away'))],
      ['is removed with its folder', (file: string) => fs.rmSync(path.dirname(file), { recursive: true })],
    ] as const)
      it(`are written anew where the file ${title}: nobody would find what is in it`, async () => {
        const inbox = inThread();
        const ids = await accept(1);
        act(stand.files()[0] ?? '');
        await eventually(() => stand.files().length > 0, 'another file');
        ids.push(...(await accept(1)));
        const taker = new Taker(inThread(inbox.image()));
        await taker.came(2);
        assert.deepEqual(taker.deliveryIds, ids);
      });

    for (const [title, damage, least] of [
      ['whose second half is gone', (file: string) => fs.truncateSync(file, fs.statSync(file).size / 2), 1],
      ['of which one page is overwritten', (file: string) => damagePage(file, 'body'), 1],
    ] as const)
      it(`give what can be read of a file ${title}, and keep that`, async () => {
        const folder = newFolder();
        const ids = await leave(folder, 60);
        const [file = ''] = stand.files({ folder });
        // All of it into the file.
        const spare = new StoreThread(file, QUIET, { isSpare: true });
        await spare.call('ping', undefined);
        await spare.close();
        damage(file);
        const inbox = inThread(folder);
        const taker = new Taker(inbox, { maxInFlight: 100 });
        await eventually(() => taker.ids.length >= least, 'what can be read');
        await stand.mend(inbox);
        await allSettled(inbox);
        assert.ok(taker.deliveryIds.every((id) => ids.includes(id)));
        const left = stand.news.flatMap((news) => (news.kind === 'left' ? news.file : []));
        assert.equal(left.length > 0 && left.every((each) => fs.existsSync(each)), true);
      });

    it('tell where one of them was damaged what was read of it, and mark that, and what comes while ids may be missing', async () => {
      const former = failing();
      // And says that it does not know them.
      former.isReadable = true;
      await accept(3);
      const folder = former.image();
      const [file = ''] = stand.files({ folder });
      const spare = new StoreThread(file, QUIET, { isSpare: true });
      await spare.call('ping', undefined);
      await spare.close();
      damagePage(file, 'message_received');
      const inbox = inThread(folder);
      inbox.isReadable = true;
      const taker = new Taker(inbox);
      await taker.came(3);
      const isMarked = ({ message }: Delivery): boolean => message.warnings.includes('may-repeat');
      assert.ok(taker.deliveries.every(isMarked));
      const [told] = taker.incidents;
      assert.ok(told?.kind === 'salvaged' && fs.existsSync(path.join(told.folder ?? '', told.file)));
      assert.deepEqual([told.open, told.ids, told.rest], [3, 0, 0]);
      assert.ok(stand.news.some((news) => news.kind === 'salvaged' && news.folder === path.dirname(file)));
      await stand.mend(inbox);
      await taker.takes();
      assert.ok(taker.deliveries.every(isMarked));
    });
  });
});

const nothing = (): void => undefined;
const QUIET = { onOpened: nothing, onFault: nothing, onWarning: nothing, onSlow: nothing };
