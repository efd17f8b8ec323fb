import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { FileIdentity, type Nameless } from '../../lib/inbox/sqlite/file-identity';
import { Store } from '../../lib/inbox/sqlite/store';
import { StoreServer } from '../../lib/inbox/sqlite/store-server';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { proven } from './samples';

interface Deed {
  title: string;
  act: (file: string) => void;
  nameless: Nameless | undefined;
}

const folderOf = (file: string): string => path.dirname(file);
const DEEDS: readonly Deed[] = [
  { title: 'nothing is done', act: () => undefined, nameless: undefined },
  { title: 'the file is removed', act: (file) => fs.rmSync(file), nameless: 'file' },
  { title: 'the file is renamed', act: (file) => fs.renameSync(file, `${file}-a`), nameless: 'file' },
  {
    title: 'the file is renamed and put back',
    act: (file) => {
      fs.renameSync(file, `${file}-a`);
      fs.renameSync(`${file}-a`, file);
    },
    nameless: undefined,
  },
  {
    title: 'a copy of the file is moved over it',
    act: (file) => {
      fs.copyFileSync(file, `${file}-a`);
      fs.renameSync(`${file}-a`, file);
    },
    nameless: 'file',
  },
  {
    title: 'another file is written over it in place',
    act: (file) => fs.writeFileSync(file, 'another'),
    nameless: undefined,
  },
  {
    title: 'the file is removed, of which a hard link is left',
    act: (file) => {
      fs.linkSync(file, `${file}-a`);
      fs.rmSync(file);
    },
    nameless: 'file',
  },
  { title: 'a hard link to it is made', act: (file) => fs.linkSync(file, `${file}-a`), nameless: undefined },
  { title: 'the log is removed', act: (file) => fs.rmSync(`${file}-wal`), nameless: 'log' },
  { title: 'the log is renamed', act: (file) => fs.renameSync(`${file}-wal`, `${file}-a`), nameless: 'log' },
  {
    title: 'file and log are removed',
    act: (file) => {
      fs.rmSync(file);
      fs.rmSync(`${file}-wal`);
    },
    nameless: 'file',
  },
  {
    title: 'the folder is removed',
    act: (file) => fs.rmSync(folderOf(file), { recursive: true }),
    nameless: 'file',
  },
  {
    title: 'the folder is renamed',
    act: (file) => fs.renameSync(folderOf(file), `${folderOf(file)}-a`),
    nameless: 'file',
  },
  {
    title: 'the folder is renamed, and a file has its name',
    act: (file) => {
      fs.renameSync(folderOf(file), `${folderOf(file)}-a`);
      fs.writeFileSync(folderOf(file), '');
    },
    nameless: 'file',
  },
  {
    title: 'the folder is replaced by a copy of itself',
    act: (file) => {
      fs.cpSync(folderOf(file), `${folderOf(file)}-a`, { recursive: true });
      fs.rmSync(folderOf(file), { recursive: true });
      fs.renameSync(`${folderOf(file)}-a`, folderOf(file));
    },
    nameless: 'file',
  },
  {
    title: 'the folder is moved, and a link leads to it',
    act: (file) => {
      fs.renameSync(folderOf(file), `${folderOf(file)}-a`);
      fs.symlinkSync(`${folderOf(file)}-a`, folderOf(file));
    },
    nameless: undefined,
  },
];

describe('what is open of an inbox', () => {
  let base: string;
  let file: string;
  let identity: FileIdentity | undefined;
  beforeEach(() => {
    base = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-identity-'));
    file = path.join(base, 'inbox', 'inbox.sqlite');
    fs.mkdirSync(folderOf(file));
    for (const end of ['', '-wal']) fs.writeFileSync(`${file}${end}`, 'as it was');
  });
  afterEach(() => {
    identity?.close();
    identity = undefined;
    fs.rmSync(base, { recursive: true });
  });

  for (const { title, act, nameless } of DEEDS)
    it(`has ${nameless === undefined ? 'its name' : `lost that of its ${nameless}`} where ${title}`, () => {
      identity = new FileIdentity(file);
      assert.equal(identity.canTell, true);
      act(file);
      assert.equal(identity.nameless(), nameless);
    });

  it('is not asked after its name where that could not be compared when it was opened', () => {
    fs.rmSync(`${file}-wal`);
    identity = new FileIdentity(file);
    fs.rmSync(file);
    assert.deepEqual([identity.canTell, identity.nameless()], [false, undefined]);
  });

  it('is written anew at its end, too, where that failed a moment ago', () => {
    const held = path.join(base, 'held');
    const heldFile = path.join(held, 'inbox.sqlite');
    const server = new StoreServer(heldFile, false, () => undefined);
    server.run([{ id: 1, name: 'accept', take: { message: newMessage(proven()), lease: 'no' } }]);
    fs.rmSync(held, { recursive: true });
    fs.writeFileSync(held, 'in the way');
    server.look();
    fs.rmSync(held);
    server.close();
    const store = new Store({ file: heldFile, resumed: false });
    assert.equal(store.newest.sequence, 1);
    store.close();
  });
});
