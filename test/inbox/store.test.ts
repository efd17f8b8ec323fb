import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { InboxEvents } from '../../lib/inbox/store-health';
import { ensurePrivateFolder } from '../../lib/files';
import { fileSystemWarning, keepReserve, releaseReserve } from '../../lib/inbox/sqlite/database';
import { migrate, MIGRATIONS } from '../../lib/inbox/sqlite/schema';
import { Store } from '../../lib/inbox/sqlite/store';
import { folderOfEach, inboxIn } from '../support/inbox/folders';
import { slowIt } from '../support/suite/lanes';
import { ROOT, otherNode } from '../support/node-red/node-red';
import { cannotRun } from '../support/suite/programs';
import { eventually, PATIENCE } from '../support/time/patience';
import { proven, Taker } from './samples';

const KNOWN = MIGRATIONS.length;
/** The file has taken one step more than this version of the package knows. */
const OTHER_VERSION = new RegExp(
  `another version of this package \\(schema ${KNOWN + 1}, this one knows ${KNOWN}\\): install that version again, or move`,
);

describe('the store of the inbox, in its thread', () => {
  let inbox: DurableInbox;
  let news: InboxEvents[];
  const folder = folderOfEach(() => inbox.close());
  const file = () => path.join(folder(), 'inbox.sqlite');

  // Threads that start and disks may be slow here: what is tested is what the store answers.
  const open = (): DurableInbox =>
    inboxIn(folder(), { log: (line) => news.push(line), lookAgain: 100, timeoutMs: PATIENCE });

  async function restart(whileClosed: () => void = () => undefined): Promise<void> {
    await inbox.close();
    whileClosed();
    inbox = open();
  }
  const copy = (): void => fs.copyFileSync(file(), `${file()}.copy`);
  const putBack = (): void => fs.copyFileSync(`${file()}.copy`, file());
  function sql(text: string): void {
    const database = new DatabaseSync(file());
    database.exec(text);
    database.close();
  }

  beforeEach(() => {
    news = [];
    inbox = open();
  });

  it('C-61 takes a conflict, too, whose first copy is kept no more', async () => {
    const messageId = 'one id';
    const copies = [proven({}, { messageId }), proven({}, { messageId }), proven({}, { messageId })];
    for (const copy of copies.slice(0, 2)) await inbox.accept(copy);
    await restart(() => sql('DELETE FROM message WHERE copy = 0'));
    assert.equal((await inbox.accept(copies[2] ?? proven())).outcome, 'conflict');
  });

  it('keeps its files to itself', async () => {
    await inbox.accept(proven());
    const modes = fs
      .readdirSync(folder())
      .map((name) => [name, fs.statSync(path.join(folder(), name)).mode & 0o777]);
    assert.ok(modes.some(([name]) => name === 'inbox.lock'));
    assert.deepEqual(
      modes.filter(([, mode]) => mode !== 0o600),
      [],
    );
    assert.equal(fs.existsSync(`${file()}-shm`), false);
    assert.ok(fs.existsSync(`${file()}-wal`));
  });

  slowIt('C-129 lets no other open its file, which is tried again until it may', async () => {
    await inbox.accept(proven());
    const spillFolder = path.join(folder(), 'other-spill');
    const other = inboxIn(folder(), { spillFolder, lookAgain: 100 });
    await eventually(() => other.state().durable === false, 'the refusal');
    assert.match(other.state().fault ?? '', /another Node-RED/);
    await inbox.close();
    await eventually(() => other.state().durable === true, 'the file to be free');
    await other.close();
    inbox = open();
  });

  it('C-135 refuses a file of another version, and says what to do; it has all that it had once that is back', async () => {
    const message = proven();
    await inbox.accept(message);
    await restart(() => sql(`PRAGMA user_version = ${KNOWN + 1}`));
    await eventually(() => inbox.state().durable === false, 'the refusal');
    assert.match(inbox.state().fault ?? '', OTHER_VERSION);
    await restart(() => sql(`PRAGMA user_version = ${KNOWN}`));
    assert.equal((await inbox.accept(message)).outcome, 'repeat');
  });

  it('C-135 brings a file forward in one transaction, with all its rows, or leaves it as it was', async () => {
    for (const message of [proven(), proven(), proven()]) await inbox.accept(message);
    await inbox.close();
    const database = new DatabaseSync(file());
    const rows = (table: string) => database.prepare(`SELECT * FROM ${table}`).all();
    const content = (): unknown[] => [
      database.prepare('PRAGMA user_version').get()?.['user_version'],
      ...['sqlite_schema', 'message', 'body', 'meta'].map(rows),
    ];
    const steps = [...MIGRATIONS, 'ALTER TABLE message ADD COLUMN operator TEXT'];
    const [before, messages, bodies] = [content(), rows('message'), rows('body')];
    assert.throws(() => migrate(database, [...steps, 'CREATE TABLE broken (']));
    assert.deepEqual(content(), before);
    migrate(database, steps);
    assert.deepEqual(
      rows('message').map((row) => ({ ...row })),
      messages.map((row) => ({ ...row, operator: null })),
    );
    assert.deepEqual(rows('body'), bodies);
    const after = content();
    migrate(database, steps);
    assert.deepEqual(content(), after);
    assert.throws(() => migrate(database), OTHER_VERSION);
    database.close();
    inbox = open();
    await eventually(() => inbox.state().durable === false, 'the refusal');
  });

  it('C-135 keeps what refers to the rows of a table that a step replaces', async () => {
    await inbox.accept(proven());
    await inbox.close();
    const database = new DatabaseSync(file());
    const replaced = `CREATE TABLE next (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL) STRICT;
      INSERT INTO next SELECT sequence, id FROM message; DROP TABLE message; ALTER TABLE next RENAME TO message`;
    migrate(database, [...MIGRATIONS, replaced]);
    const sequences = (table: string): unknown[] => database.prepare(`SELECT sequence FROM ${table}`).all();
    assert.equal(sequences('body').length, 1);
    assert.deepEqual(sequences('body'), sequences('message'));
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), []);
    database.close();
    fs.rmSync(file());
    inbox = open();
  });

  it('C-135 says why that failed also where it ended the transaction by itself, as a full disk may', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database);
    const step = `CREATE TABLE more (one INTEGER UNIQUE); INSERT OR ROLLBACK INTO more VALUES (1), (1)`;
    assert.throws(() => migrate(database, [...MIGRATIONS, step]), /UNIQUE/);
    assert.throws(() => database.prepare('SELECT one FROM more'));
  });

  it('C-77 warns where an older copy of its file was put back', async () => {
    const message = proven();
    await inbox.accept(message);
    await restart(copy);
    await restart();
    await inbox.accept(proven());
    assert.deepEqual(news, []);
    await restart(putBack);
    await inbox.accept(proven());
    assert.deepEqual(news, [{ kind: 'restored', from: Date.parse(message.receivedTime) }]);
  });

  it('C-77 says of what comes after an older copy was put back that it may repeat, also at the next start', async () => {
    await inbox.accept(proven());
    await restart(copy);
    const message = proven();
    await inbox.accept(message);
    await restart(putBack);
    for (const next of [message, proven()]) {
      const taker = new Taker(inbox);
      const { deliveryId } = await taker.takes(next);
      const delivery = taker.deliveries.find((each) => each.deliveryId === deliveryId);
      assert.deepEqual(delivery?.message.warnings, ['may-repeat']);
      await restart();
    }
  });

  it('C-77 says of what waits in an older copy that it may repeat, for it may have been delivered since', async () => {
    const message = proven();
    await inbox.accept(message);
    await restart(copy);
    await new Taker(inbox).came(1);
    await restart(putBack);
    const taker = new Taker(inbox);
    await taker.came(1);
    assert.equal(taker.ids[0], message.envelope.messageId);
    assert.deepEqual(taker.deliveries[0]?.message.warnings, ['may-repeat']);
  });

  it('C-77 says of a file of which the log is gone that it is an older copy, also after its first opening', async () => {
    await inbox.accept(proven());
    for (const name of ['inbox.sqlite', 'inbox.openings'])
      fs.cpSync(path.join(folder(), name), path.join(folder(), 'image', name));
    const opened = new Store({ file: path.join(folder(), 'image', 'inbox.sqlite'), resumed: false });
    opened.close();
    assert.equal(opened.opened.restored, 'older');
  });

  it('C-77 says where its file is gone that it made a new one, and of what comes then that it may repeat', async () => {
    const message = proven();
    await inbox.accept(message);
    await restart(() => {
      for (const end of ['', '-wal']) fs.rmSync(`${file()}${end}`, { force: true });
    });
    const taker = new Taker(inbox);
    await taker.takes(message);
    assert.deepEqual(news, [{ kind: 'made-anew' }]);
    assert.deepEqual(taker.deliveries[0]?.message.warnings, ['may-repeat']);
  });

  it('goes on in another thread where its own has died, and forgets no event that was with the flow', async () => {
    const threads: Worker[] = [];
    const note = (worker: Worker) => void threads.push(worker);
    process.on('worker', note);
    try {
      await restart();
      const taker = new Taker(inbox, { handledWhen: 'settled' });
      const { deliveryId } = await taker.takes();
      await threads[0]?.terminate();
      await eventually(() => threads.length === 2 && inbox.state().durable === true, 'the next thread');
      assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
      await taker.takes();
      assert.deepEqual(
        taker.told.map(([, attempt]) => attempt),
        [1, 1],
      );
    } finally {
      process.off('worker', note);
    }
  });

  it('commits together what arrives together', async () => {
    const size = (): number => fs.statSync(path.join(folder(), 'inbox.sqlite-wal')).size;
    await inbox.accept(proven());
    const before = size();
    // Few enough for the log not to begin anew, as it does when there is time.
    await Promise.all(Array.from({ length: 40 }, () => inbox.accept(proven())));
    const together = size() - before;
    for (let i = 0; i < 10; i += 1) await inbox.accept(proven());
    const alone = size() - before - together;
    assert.ok(alone * 4 > together * 1.5, `${together} bytes for 40 together, ${alone} for 10 alone`);
  });

  slowIt('rolls back a transaction that failed, and goes on, on the oldest Node.js too', function () {
    const node = otherNode(this, '22.19.0');
    const script = `
      const { Store } = require('${path.join(ROOT, 'dist', 'lib', 'inbox', 'sqlite', 'store.js')}');
      const store = new Store({ file: process.argv[1], resumed: false });
      try { store.transaction(() => { store.work.ping(); throw new Error('refused'); }); } catch (error) { console.log(error.message); }
      store.transaction(() => store.work.ping());
      store.close();
      console.log('went on');`;
    const { stdout } = spawnSync(node, ['-e', script, path.join(folder(), 'other.sqlite')], {
      encoding: 'utf8',
    });
    assert.equal(stdout, 'refused\nwent on\n');
  });

  it('C-128 sets a damaged file aside, goes on in a new one, and says of events that they may repeat', async () => {
    await inbox.accept(proven());
    await restart(() => fs.writeFileSync(file(), 'this is no database, whatever its name says'.repeat(300)));
    const taker = new Taker(inbox);
    assert.equal((await taker.takes()).outcome, 'new');
    assert.equal(taker.ids.length, 1);
    assert.ok(taker.deliveries[0]?.message.warnings.includes('may-repeat'));
    await eventually(() => inbox.state().durable === true, 'the new file');
    assert.equal(fs.readdirSync(folder()).filter((name) => name.includes('.damaged-')).length, 1);
  });
});

describe('the folder of the inbox', () => {
  it('is made with all that leads to it', () => {
    const top = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-made-'));
    ensurePrivateFolder(path.join(top, 'a', 'b', 'c'));
    ensurePrivateFolder(path.join(top, 'a', 'b', 'c'));
    assert.ok(fs.statSync(path.join(top, 'a', 'b', 'c')).isDirectory());
    fs.rmSync(top, { recursive: true });
  });

  it('is refused at once where none can be made', function () {
    if (!fs.existsSync('/proc/self')) cannotRun(this, 'there is no /proc');
    assert.throws(() => ensurePrivateFolder('/proc/no-such-folder/inbox'), /ENOENT/);
    assert.throws(() => ensurePrivateFolder(path.join(process.execPath, 'inbox')), /ENOTDIR|EEXIST/);
  });
});

describe('the disk under the inbox', () => {
  it('is warned of where it forgets', function () {
    if (!fs.existsSync('/dev/shm')) cannotRun(this, 'there is no /dev/shm');
    assert.deepEqual(fileSystemWarning('/dev/shm'), { kind: 'volatile', fileSystem: 'tmpfs' });
  });

  it('keeps a reserve, which is given up once', () => {
    const reserved = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-reserve-'));
    assert.equal(releaseReserve(reserved), false);
    keepReserve(reserved);
    keepReserve(reserved);
    assert.equal(fs.statSync(path.join(reserved, 'reserve')).size, 16 * 1024 * 1024);
    assert.equal(releaseReserve(reserved), true);
    assert.equal(releaseReserve(reserved), false);
    fs.rmSync(reserved, { recursive: true });
  });
});
