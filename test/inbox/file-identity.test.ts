import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { FileIdentity, type Nameless } from '../../lib/inbox/sqlite/database';
import { Store } from '../../lib/inbox/sqlite/store';
import { StoreServer } from '../../lib/inbox/sqlite/store-server';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { proven } from './samples';

const folderOf = (file: string): string => path.dirname(file);
const away = (name: string): void => fs.renameSync(name, `${name}-a`);
const back = (name: string): void => fs.renameSync(`${name}-a`, name);
const remove = (...names: string[]): void => {
  for (const name of names) fs.rmSync(name, { recursive: true });
};

const DEEDS: readonly [title: string, nameless: Nameless | undefined, ...acts: ((file: string) => void)[]][] =
  [
    ['nothing is done', undefined],
    ['the file is removed', 'file', remove],
    ['the file is renamed', 'file', away],
    ['the file is renamed and put back', undefined, away, back],
    ['a copy of the file is moved over it', 'file', (file) => fs.copyFileSync(file, `${file}-a`), back],
    ['another file is written over it in place', undefined, (file) => fs.writeFileSync(file, 'another')],
    [
      'the file is removed, of which a hard link is left',
      'file',
      (file) => fs.linkSync(file, `${file}-a`),
      remove,
    ],
    ['a hard link to it is made', undefined, (file) => fs.linkSync(file, `${file}-a`)],
    ['the log is removed', 'log', (file) => remove(`${file}-wal`)],
    ['the log is renamed', 'log', (file) => away(`${file}-wal`)],
    ['file and log are removed', 'file', (file) => remove(file, `${file}-wal`)],
    ['the folder is removed', 'file', (file) => remove(folderOf(file))],
    ['the folder is renamed', 'file', (file) => away(folderOf(file))],
    [
      'the folder is renamed, and a file has its name',
      'file',
      (file) => away(folderOf(file)),
      (file) => fs.writeFileSync(folderOf(file), ''),
    ],
    [
      'the folder is replaced by a copy of itself',
      'file',
      (file) => fs.cpSync(folderOf(file), `${folderOf(file)}-a`, { recursive: true }),
      (file) => remove(folderOf(file)),
      (file) => back(folderOf(file)),
    ],
    [
      'the folder is moved, and a link leads to it',
      undefined,
      (file) => away(folderOf(file)),
      (file) => fs.symlinkSync(`${folderOf(file)}-a`, folderOf(file)),
    ],
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

  for (const [title, nameless, ...acts] of DEEDS)
    it(`has ${nameless === undefined ? 'its name' : `lost that of its ${nameless}`} where ${title}`, () => {
      identity = new FileIdentity(file);
      assert.equal(identity.canTell, true);
      for (const act of acts) act(file);
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
