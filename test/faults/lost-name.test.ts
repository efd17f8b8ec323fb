import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Incident } from '../../lib/inbox/model';
import { HeldInbox } from '../support/inbox/held-inbox';
import { eventually } from '../support/time/patience';

const away = (name: string): void => fs.renameSync(name, `${name}-away`);

/** What is done to the file of an inbox that is open. */
const KINDS: [title: string, what: 'file' | 'log', act: (file: string) => void][] = [
  ['its file is removed', 'file', (file) => fs.rmSync(file)],
  ['its file is renamed', 'file', away],
  ['its log is removed', 'log', (file) => fs.rmSync(`${file}-wal`)],
  ['its log is renamed', 'log', (file) => away(`${file}-wal`)],
  ['file and log are removed', 'file', (file) => [`${file}-wal`, file].forEach((name) => fs.rmSync(name))],
  ['its folder is renamed', 'file', (file) => away(path.dirname(file))],
  ['its folder is removed', 'file', (file) => fs.rmSync(path.dirname(file), { recursive: true })],
  [
    'another file is moved over it',
    'file',
    (file) => {
      fs.writeFileSync(`${file}-other`, 'no database\n'.repeat(1000));
      fs.renameSync(`${file}-other`, file);
    },
  ],
];

describe('an inbox of which something is removed or renamed while it is open', () => {
  let base: string;
  let file: string;
  let held: HeldInbox;

  function open(spill: 'beside' | 'none' | 'within' = 'beside'): void {
    // Where a file is in the way, nothing is spilled.
    fs.writeFileSync(path.join(base, 'in-the-way'), '');
    const folder = { beside: '', within: 'inbox', none: 'in-the-way' }[spill];
    held = new HeldInbox(file, path.join(base, folder, 'spill'), path.join(base, 'last'));
  }

  /** What is told of the inbox itself: a spare within its folder is moved along with it. */
  const move = (): Incident | undefined =>
    held.incidents.find((incident) => incident.kind === 'moved' && incident.folder === undefined);
  const moved = (): Promise<void> => eventually(() => move() !== undefined && held.isDurable, 'a new file');

  beforeEach(() => {
    base = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-name-'));
    file = path.join(base, 'inbox', 'inbox.sqlite');
  });
  afterEach(async () => {
    await held.kill();
    fs.rmSync(base, { recursive: true });
  });

  for (const [title, what, act] of KINDS)
    for (const spill of ['beside', 'none', 'within'] as const)
      it(`loses nothing that it acknowledged where ${title} (spill folder: ${spill})`, async () => {
        open(spill);
        await held.sendAll('before', 11);
        act(file);
        for (let number = 0; number < 5; number += 1) await held.send(`meanwhile-${number}`);
        await moved();
        await held.sendAll('after', 5);
        assert.deepEqual(move(), { kind: 'moved', what });
        assert.ok(held.hasFailed, 'it never said that it cannot store');
        const { ids } = await held.afterKill();
        const lost = held.acknowledged.filter((id) => !ids.includes(id));
        assert.deepEqual(lost, [], 'of what was acknowledged');
        assert.ok(held.acknowledged.length >= 16, `${held.acknowledged.length} acknowledged`);
        assert.equal(ids.length, new Set(ids).size, 'each once');
      });

  it('tells it also while nothing comes', async () => {
    open();
    await held.sendAll('before', 3);
    fs.rmSync(file);
    await moved();
    assert.ok(fs.statSync(file).size > 0);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    const { ids } = await held.afterKill();
    assert.equal(ids.length, 3);
  });

  it('takes in what a file alone holds that is put back later, by id, and keeps that file', async () => {
    open();
    await held.sendAll('shared', 4);
    fs.renameSync(file, `${file}-away`);
    await moved();
    await held.kill();
    // As a Node-RED would that was given the old one meanwhile.
    const [spill, last] = ['other-spill', 'other-last'].map((name) => path.join(base, name));
    const other = new HeldInbox(`${file}-away`, spill ?? '', last ?? '');
    await other.sendAll('other', 6);
    await other.kill();
    const { acknowledged } = held;
    open();
    await held.sendAll('own', 8);
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
    await held.sendAll('before', 3);
    const folder = path.dirname(file);
    fs.renameSync(folder, `${folder}-away`);
    fs.writeFileSync(folder, '');
    assert.equal(await held.send('cut'), 'cut');
    assert.equal(await held.send('cut again'), 'cut');
    await eventually(() => held.incidents.some(({ kind }) => kind === 'refuses'), 'what is told');
    fs.rmSync(folder);
    fs.renameSync(`${folder}-away`, folder);
    await eventually(() => held.isDurable, 'the store');
    await held.sendAll('after', 3);
    assert.deepEqual(
      held.incidents.map(({ kind }) => kind),
      ['refuses', 'takes'],
    );
    const { ids } = await held.afterKill();
    // What was cut came to the flow from memory, and entered the inbox with what was acknowledged.
    assert.deepEqual(ids.toSorted(), [...held.acknowledged, 'cut', 'cut again'].toSorted());
  });

  it('writes nothing anew where a file is copied over it in place', async () => {
    open();
    await held.sendAll('before', 3);
    fs.copyFileSync(file, `${file}-copy`);
    fs.copyFileSync(`${file}-copy`, file);
    await held.sendAll('after', 3);
    // It was looked at before this is told.
    fs.rmSync(`${file}-wal`);
    await moved();
    assert.deepEqual(held.incidents, [{ kind: 'moved', what: 'log' }]);
  });

  it('goes on where its folder is moved and a link leads to it', async () => {
    open();
    await held.sendAll('before', 3);
    const folder = path.dirname(file);
    fs.renameSync(folder, `${folder}-elsewhere`);
    fs.symlinkSync(`${folder}-elsewhere`, folder);
    await held.sendAll('after', 3);
    const { ids } = await held.afterKill();
    assert.equal(new Set(ids).size, 6);
  });
});
