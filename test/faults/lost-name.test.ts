import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { HeldInbox } from '../support/inbox/held-inbox';
import { eventually } from '../support/time/patience';

interface Kind {
  title: string;
  /** What it does to the file of an inbox that is open. */
  act: (file: string) => void;
  what: 'file' | 'log';
}

const folderOf = (file: string): string => path.dirname(file);
const KINDS: readonly Kind[] = [
  { title: 'its file is removed', act: (file) => fs.rmSync(file), what: 'file' },
  { title: 'its file is renamed', act: (file) => fs.renameSync(file, `${file}-away`), what: 'file' },
  { title: 'its log is removed', act: (file) => fs.rmSync(`${file}-wal`), what: 'log' },
  { title: 'its log is renamed', act: (file) => fs.renameSync(`${file}-wal`, `${file}-away`), what: 'log' },
  {
    title: 'file and log are removed',
    act: (file) => {
      fs.rmSync(`${file}-wal`);
      fs.rmSync(file);
    },
    what: 'file',
  },
  {
    title: 'its folder is renamed',
    act: (file) => fs.renameSync(folderOf(file), `${folderOf(file)}-away`),
    what: 'file',
  },
  {
    title: 'its folder is removed',
    act: (file) => fs.rmSync(folderOf(file), { recursive: true }),
    what: 'file',
  },
  {
    title: 'another file is moved over it',
    act: (file) => {
      fs.writeFileSync(`${file}-other`, 'no database\n'.repeat(1000));
      fs.renameSync(`${file}-other`, file);
    },
    what: 'file',
  },
];

describe('an inbox of which something is removed or renamed while it is open', () => {
  let base: string;
  let file: string;
  let held: HeldInbox;

  function open(spill: 'beside' | 'none' | 'within' = 'beside'): void {
    const spillFolder = { beside: path.join(base, 'spill'), within: path.join(base, 'inbox', 'spill') };
    // Where a file is in the way, nothing is spilled.
    const none = path.join(base, 'in-the-way', 'spill');
    fs.writeFileSync(path.join(base, 'in-the-way'), '');
    held = new HeldInbox(file, spill === 'none' ? none : spillFolder[spill], path.join(base, 'last'));
  }

  const moved = (): Promise<void> =>
    eventually(() => held.incidents.some(({ kind }) => kind === 'moved') && held.isDurable, 'a new file');

  beforeEach(() => {
    base = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-name-'));
    file = path.join(base, 'inbox', 'inbox.sqlite');
  });
  afterEach(async () => {
    await held.kill();
    fs.rmSync(base, { recursive: true });
  });

  for (const { title, act, what } of KINDS)
    for (const spill of ['beside', 'none', 'within'] as const)
      it(`loses nothing that it acknowledged where ${title} (spill folder: ${spill})`, async () => {
        open(spill);
        await held.sendSome('before', 11);
        act(file);
        await held.sendSome('meanwhile', 5);
        await moved();
        await held.sendSome('after', 5);
        assert.deepEqual(
          held.incidents.find(({ kind }) => kind === 'moved'),
          { kind: 'moved', what },
        );
        assert.ok(held.hasFailed, 'it never said that it cannot store');
        const { ids } = await held.afterKill();
        const came = new Set(ids);
        assert.deepEqual(
          held.acknowledged.filter((id) => !came.has(id)),
          [],
          'of what was acknowledged',
        );
        assert.ok(held.acknowledged.length >= 16, `${held.acknowledged.length} acknowledged`);
        assert.equal(ids.length, came.size, 'each once');
      });

  it('tells it also while nothing comes', async () => {
    open();
    await held.sendSome('before', 3);
    fs.rmSync(file);
    await moved();
    assert.ok(fs.statSync(file).size > 0);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    const { ids } = await held.afterKill();
    assert.equal(ids.length, 3);
  });

  it('takes in what a file alone holds that is put back later, by id, and keeps that file', async () => {
    open();
    await held.sendSome('shared', 4);
    fs.renameSync(file, `${file}-away`);
    await moved();
    await held.kill();
    // As a Node-RED would that was given the old one meanwhile.
    const other = new HeldInbox(
      `${file}-away`,
      path.join(base, 'other-spill'),
      path.join(base, 'other-last'),
    );
    await other.sendSome('other', 6);
    await other.kill();
    const { acknowledged } = held;
    open();
    await held.sendSome('own', 8);
    fs.renameSync(`${file}-away`, file);
    fs.renameSync(`${file}-away-wal`, `${file}-wal`);
    await eventually(
      () => held.incidents.some(({ kind }) => kind === 'found') && held.isDurable,
      'the other',
    );
    const found = held.incidents.find((incident) => incident.kind === 'found');
    assert.equal(found?.kind === 'found' && found.open, 6);
    const kept = found?.kind === 'found' ? found.file : '';
    assert.match(kept, /^inbox\.sqlite\.found-/);
    assert.ok(fs.statSync(path.join(base, 'inbox', kept)).size > 0);
    held.acknowledged.push(...acknowledged, ...other.acknowledged);
    const { ids } = await held.afterKill();
    assert.deepEqual(ids.toSorted(), held.acknowledged.toSorted());
  });

  it('cuts all while it cannot be written anew, and goes on where it is put back as it was', async () => {
    open('none');
    await held.sendSome('before', 3);
    const folder = path.dirname(file);
    fs.renameSync(folder, `${folder}-away`);
    fs.writeFileSync(folder, '');
    assert.equal(await held.send('cut'), 'cut');
    assert.equal(await held.send('cut again'), 'cut');
    await eventually(() => held.incidents.some(({ kind }) => kind === 'refuses'), 'what is told');
    fs.rmSync(folder);
    fs.renameSync(`${folder}-away`, folder);
    await eventually(() => held.isDurable, 'the store');
    await held.sendSome('after', 3);
    assert.deepEqual(
      held.incidents.map(({ kind }) => kind),
      ['refuses', 'takes'],
    );
    const { ids } = await held.afterKill();
    assert.deepEqual(ids.toSorted(), held.acknowledged.toSorted());
  });

  it('writes nothing anew where a file is copied over it in place', async () => {
    open();
    await held.sendSome('before', 3);
    fs.copyFileSync(file, `${file}-copy`);
    fs.copyFileSync(`${file}-copy`, file);
    await held.sendSome('after', 3);
    // It was looked at before this is told.
    fs.rmSync(`${file}-wal`);
    await moved();
    assert.deepEqual(held.incidents, [{ kind: 'moved', what: 'log' }]);
  });

  it('goes on where its folder is moved and a link leads to it', async () => {
    open();
    await held.sendSome('before', 3);
    const folder = path.dirname(file);
    fs.renameSync(folder, `${folder}-elsewhere`);
    fs.symlinkSync(`${folder}-elsewhere`, folder);
    await held.sendSome('after', 3);
    const { ids } = await held.afterKill();
    assert.equal(new Set(ids).size, 6);
  });
});
