import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { damagePage, flipBits } from '../support/inbox/broken-files';
import { folderOfEach } from '../support/inbox/folders';
import type { Accepted, NewMessage } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { lockFolder } from '../../lib/inbox/sqlite/database';
import { salvage } from '../../lib/inbox/sqlite/salvage';
import { Store } from '../../lib/inbox/sqlite/store';
import { StoreServer } from '../../lib/inbox/sqlite/store-server';
import type { FromStore } from '../../lib/inbox/sqlite/store-thread';
import { byLane, few, slowIt } from '../support/suite/lanes';
import { ENDPOINT, proven } from './samples';

const ROOT = `SELECT rootpage FROM sqlite_schema WHERE name = 'message'`;
const RENAMED = `UPDATE sqlite_schema SET name = 'messagd', tbl_name = 'messagd' WHERE name = 'message'`;
const NOW = new Date('2026-03-04T05:06:07.089Z');
const KILLER = path.join(__dirname, '../support/inbox/kill-at-step.js');
const SALVAGE = `require('./lib/inbox/sqlite/salvage.ts').salvage(process.argv[1], new Date())`;

describe('a damaged file', () => {
  let file: string;
  const folder = folderOfEach();
  beforeEach(() => {
    file = path.join(folder(), 'inbox.sqlite');
  });

  const names = (): string[] => fs.readdirSync(folder()).toSorted();

  /** So many events, of which every tenth is open. */
  function fill(count: number): { message: NewMessage; accepted: Accepted }[] {
    return inStore((work) =>
      Array.from({ length: count }, (_, number) => {
        const message = newMessage(proven({ eventName: `Event ${number}` }));
        const accepted = work.accept({ message, lease: 'no' });
        if (number % 10 !== 0) work.markDelivered([accepted.deliveryId]);
        return { message, accepted };
      }),
    );
  }

  /** Opens it, does that, and closes it. */
  function inStore<Result>(act: (work: Store['work'], store: Store) => Result): Result {
    const store = new Store({ file, resumed: false });
    try {
      return store.transaction(() => act(store.work, store));
    } finally {
      store.close();
    }
  }

  const accept = (message = newMessage(proven())) => inStore((work) => work.accept({ message, lease: 'no' }));
  const lease = () =>
    inStore((work) => work.lease({ endpoint: ENDPOINT, limit: 1000, health: 1000, ordered: false }));
  const rows = (state: 'open' | 'all'): string[] =>
    inStore((work) => work.list({ state, limit: 10_000 }).map(({ id }) => id));

  /** What it tells that is opened as at a start. */
  function serve(): FromStore[] {
    const told: FromStore[] = [];
    new StoreServer(file, false, (news) => told.push(news)).close();
    return told;
  }
  const kinds = (told: readonly FromStore[]): unknown[] => told.map((news) => Object.keys(news)[0]);

  function sql(text: string): void {
    const open = new DatabaseSync(file, { enableForeignKeyConstraints: false });
    open.exec(text);
    open.close();
  }

  it('gives all but the damaged page, under the same ids, and is kept', () => {
    const filled = fill(1000);
    damagePage(file, 'message');
    const damaged = fs.readFileSync(file);
    const salvaged = salvage(file, NOW);
    const left = new Set(rows('all'));
    const lost = filled.filter(({ message }) => !left.has(message.id));
    assert.ok(lost.length > 0 && lost.length < 20, `${lost.length} lost`);
    assert.equal(salvaged.open + salvaged.ids, left.size);
    assert.equal(rows('open').length, salvaged.open);
    assert.equal(salvaged.rest, salvaged.ids);
    assert.equal(salvaged.file, 'inbox.sqlite.damaged-2026-03-04T05-06-07-089Z');
    assert.deepEqual(fs.readFileSync(path.join(folder(), salvaged.file)), damaged);
    inStore((work) => {
      for (const { message, accepted } of filled.filter(({ message: { id } }) => left.has(id))) {
        const { outcome, deliveryId } = work.accept({ message, lease: 'no' });
        assert.deepEqual([outcome, deliveryId], ['repeat', accepted.deliveryId]);
      }
    });
  });

  it('gives what became of the events that are left, and what people found of them', () => {
    const filled = fill(300);
    const step = { time: 1, step: 'verdict', verdict: 'false', note: 'a cat', by: 'Anna' } as const;
    inStore((work) => {
      for (const { accepted } of filled) work.note({ deliveryId: accepted.deliveryId, step });
    });
    damagePage(file, 'message');
    salvage(file, NOW);
    const listed = inStore((work) => work.list({ state: 'all', history: true, limit: 1000 }));
    assert.ok(listed.length > 250, `${listed.length} are left`);
    for (const { verdict, steps = [] } of listed) {
      assert.deepEqual(verdict, { verdict: 'false', time: 1 });
      assert.ok(steps.some(({ note, by }) => note === 'a cat' && by === 'Anna'));
    }
  });

  it('gives which node has which endpoint, or had it', () => {
    fill(100);
    inStore((work) => {
      work.claimEndpoint({ endpoint: ':/left', node: 'gone' });
      work.leaveEndpoint({ node: 'gone' });
      work.claimEndpoint({ endpoint: ENDPOINT, node: 'node' });
    });
    damagePage(file, 'message');
    salvage(file, NOW);
    const read = new DatabaseSync(file);
    const endpoints = read.prepare('SELECT endpoint, node, is_current FROM endpoint ORDER BY node').all();
    read.close();
    assert.deepEqual(
      endpoints.map((row) => Object.values(row)),
      [
        [':/left', 'gone', 0],
        [ENDPOINT, 'node', 1],
      ],
    );
  });

  it('gives a new one where nothing of it can be read, and says since when ids may be lost', () => {
    fs.writeFileSync(file, 'no database at all\n'.repeat(1000));
    assert.deepEqual(salvage(file, NOW), {
      open: 0,
      ids: 0,
      rest: 0,
      file: 'inbox.sqlite.damaged-2026-03-04T05-06-07-089Z',
    });
    inStore((_work, { opened }) => {
      assert.ok((opened.idsLostSince ?? Infinity) < 60_000);
      assert.equal(opened.restored, false);
    });
  });

  it('is read without a log that is of another file', () => {
    const filled = fill(100);
    fs.writeFileSync(`${file}-wal`, fs.readFileSync(file));
    const salvaged = salvage(file, NOW);
    assert.equal(salvaged.open + salvaged.ids, filled.length);
    assert.ok(names().includes(`${salvaged.file}-wal`));
    assert.ok(!names().includes('inbox.sqlite-wal'));
  });

  it('is salvaged anew after a kill that left a half of a new one', () => {
    fill(100);
    damagePage(file, 'message');
    fs.writeFileSync(`${file}.salvage`, 'half');
    fs.writeFileSync(`${file}.reading`, 'half');
    const { open, ids } = salvage(file, NOW);
    assert.ok(open + ids > 50);
    assert.deepEqual(names(), [
      'inbox.lock',
      'inbox.openings',
      'inbox.sqlite',
      'inbox.sqlite.damaged-2026-03-04T05-06-07-089Z',
    ]);
  });

  /** Salvages it in a process of its own. @returns true where that was killed before so many steps */
  function killedAt(step: number): boolean {
    const { status, signal, stderr } = spawnSync(
      process.execPath,
      ['--import=tsx', '--require', KILLER, '-e', SALVAGE, file],
      { env: { ...process.env, KILL_AT: `${step}` }, encoding: 'utf8' },
    );
    assert.ok(status === 0 || signal === 'SIGKILL', stderr);
    return signal === 'SIGKILL';
  }

  for (const [title, spoil] of [
    ['before the log of the one without a name was removed', () => undefined],
    ['after the log of the one without a name was removed', () => fs.rmSync(`${file}-wal`)],
  ] as const)
    it(`is written anew all the same after a kill ${title}`, () => {
      fill(20);
      const store = new Store({ file, resumed: false });
      store.transaction(() => store.work.accept({ message: newMessage(proven()), lease: 'no' }));
      // As far as it had come: the file is gone, and a whole copy is on the disk.
      store.copyTo(`${file}.salvaged`);
      fs.copyFileSync(`${file}-wal`, `${file}-log`);
      store.close();
      fs.rmSync(file);
      fs.renameSync(`${file}-log`, `${file}-wal`);
      spoil();
      assert.ok(!kinds(serve()).includes('fault'));
      assert.equal(rows('all').length, 21);
    });

  it('has nothing of a new one beside it after a salvage that failed', () => {
    fill(100);
    damagePage(file, 'message');
    // What cannot be copied, as on a full disk.
    fs.mkdirSync(`${file}-wal`);
    assert.throws(() => salvage(file, NOW));
    assert.deepEqual(names(), ['inbox.lock', 'inbox.openings', 'inbox.sqlite', 'inbox.sqlite-wal']);
    fs.rmdirSync(`${file}-wal`);
    assert.ok(salvage(file, NOW).ids > 50);
  });

  describe('of a store', () => {
    it('goes on with the renaming where a kill came between, and tells of it', () => {
      fill(10);
      fs.renameSync(file, `${file}.salvaged`);
      fs.writeFileSync(file, 'damaged');
      fs.writeFileSync(`${file}-wal`, 'of the damaged one');
      assert.deepEqual(kinds(serve()), ['warning', 'opened']);
      assert.equal(rows('open').length, 1);
      assert.equal(names().filter((name) => name.includes('.damaged-')).length, 2);
    });

    it('is left alone where another version has written it', () => {
      fill(10);
      sql('PRAGMA user_version = 99');
      const [told] = serve();
      assert.match(JSON.stringify(told), /another version of this package/);
      assert.deepEqual(names(), ['inbox.lock', 'inbox.openings', 'inbox.sqlite']);
    });

    it('is left alone while another process salvages it', () => {
      fill(100);
      damagePage(file, 'message');
      fs.writeFileSync(`${file}.salvage`, 'of the other process');
      const other = lockFolder(folder(), { name: 'inbox.lock' });
      assert.match(JSON.stringify(serve()), /another Node-RED has its file/);
      assert.deepEqual(names(), ['inbox.lock', 'inbox.openings', 'inbox.sqlite', 'inbox.sqlite.salvage']);
      other?.release();
      assert.match(JSON.stringify(serve()), /"kind":"salvaged"/);
    });

    it('is left alone where it is a folder(), or somebody else has it', () => {
      fs.mkdirSync(file);
      assert.match(JSON.stringify(serve()), /cannot be opened or made/);
      fs.rmdirSync(file);
      fill(10);
      const other = new DatabaseSync(file);
      other.exec('BEGIN EXCLUSIVE');
      assert.match(JSON.stringify(serve()), /another Node-RED has its file/);
      other.close();
      assert.equal(names().filter((name) => name.includes('damaged')).length, 0);
    });
  });

  it('gives open events that say that they may repeat, for they may have been delivered; not so what comes later', () => {
    fill(100);
    damagePage(file, 'message');
    const { open } = salvage(file, NOW);
    const { sequence } = accept();
    const leased = lease();
    assert.equal(leased.length, open + 1);
    for (const message of leased)
      assert.deepEqual(message.warnings, message.sequence === sequence ? undefined : ['may-repeat']);
  });

  for (const isSalvaged of [false, true])
    it(`of which the clock is no number any more goes on from its newest message${isSalvaged ? ', salvaged, too' : ''}`, () => {
      fill(100);
      sql(`UPDATE message SET stored = 5000;
        INSERT INTO meta VALUES ('clock', '12x4') ON CONFLICT (name) DO UPDATE SET value = '12x4'`);
      if (isSalvaged) salvage(file, NOW);
      const store = new Store({ file, resumed: false, monotonic: () => 0 });
      store.transaction(() => store.work.accept({ message: newMessage(proven()), lease: 'no' }));
      store.transaction(() => store.work.ping(undefined));
      store.close();
      const read = new DatabaseSync(file);
      assert.equal(read.prepare(`SELECT value FROM meta WHERE name = 'clock'`).get()?.['value'], '5000');
      assert.equal(read.prepare('SELECT max(stored) AS stored FROM message').get()?.['stored'], 5000);
      read.close();
      assert.equal(store.opened.idsLostSince, isSalvaged ? 0 : undefined);
    });

  describe('whose trees lead nowhere', () => {
    const overwritten = (page: number, bytes = Buffer.alloc(1024, 0x5a)): void => {
      const handle = fs.openSync(file, 'r+');
      fs.writeSync(handle, bytes, 0, bytes.length, (page - 1) * 1024);
      fs.closeSync(handle);
    };
    const asked = (sql: string): unknown[] => {
      const open = new DatabaseSync(file, { defensive: false } as object);
      open.exec('PRAGMA writable_schema = ON');
      const values = open.prepare(sql).all();
      open.close();
      return values.map((row) => Object.values(row)[0]);
    };
    const ways: [title: string, spoil: () => void][] = [
      ['its first page is gone', () => overwritten(1)],
      ['the root of its messages is gone', () => overwritten(Number(asked(ROOT)[0]))],
      ['a table has another name', () => asked(RENAMED)],
      ['no table can be made out', () => asked(`UPDATE sqlite_schema SET sql = 'CREATE TABLE'`)],
      ['it seems to have no schema yet', () => asked('PRAGMA user_version = 0')],
    ];
    for (const [title, spoil] of ways)
      it(`is set aside by the store, and gives every event with its body: ${title}`, () => {
        // From all in its row to many pages of its own, and what lies about the limits of a page.
        const sizes = [1, 90, 91, ...Array.from({ length: 80 }, (_, index) => 160 * index + index), 200_000];
        const messages = sizes.map((size) => ({ ...newMessage(proven()), bytes: Buffer.alloc(size, size) }));
        inStore((work) => {
          for (const message of messages) work.accept({ message, lease: 'no' });
        });
        spoil();
        const told = serve();
        assert.deepEqual(kinds(told), ['warning', 'opened'], JSON.stringify(told));
        assert.deepEqual(
          lease().map(({ id, bytes }) => [id, bytes && Buffer.from(bytes)]),
          messages.map(({ id, bytes }) => [id, bytes]),
        );
      });

    it('gives nothing that was deleted', () => {
      fill(1000);
      const ids = rows('all');
      asked('DELETE FROM message WHERE sequence <= 900');
      overwritten(Number(asked(ROOT)[0]));
      salvage(file, NOW);
      assert.deepEqual(rows('all').toSorted(), ids.slice(0, 100).toSorted());
    });
  });

  describe('whose log', () => {
    /** A file as a kill leaves it: so many events, each of a commit of its own, of which the second half is in the log alone. */
    function killed(count: number): void {
      const other = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-salvage-'));
      const written = path.join(other, 'inbox.sqlite');
      const store = new Store({ file: written, resumed: false });
      for (let number = 0; number < count; number += 1) {
        if (number === count / 2) store.checkpoint();
        store.transaction(() => store.work.accept({ message: newMessage(proven()), lease: 'no' }));
      }
      for (const name of fs.readdirSync(other))
        fs.copyFileSync(path.join(other, name), path.join(folder(), name));
      store.close();
      fs.rmSync(other, { recursive: true });
    }
    const spoilt = (name: string, place: number, length: number): void => {
      const content = fs.readFileSync(name);
      content.fill(0x5a, Math.floor(place * content.length), Math.floor(place * content.length) + length);
      fs.writeFileSync(name, content);
    };
    const ways: [title: string, least: number, spoil: () => void][] = [
      ['has a damaged page in its middle', 98, () => spoilt(`${file}-wal`, 0.5, 500)],
      ['has a damaged head', 100, () => spoilt(`${file}-wal`, 0, 32)],
      ['is all that is left of an empty file', 50, () => fs.truncateSync(file, 0)],
      ['is all that is left of a file', 50, () => fs.rmSync(file)],
    ];
    for (const [title, least, spoil] of ways)
      it(`${title} is set aside, and what stands in it is salvaged, too`, () => {
        killed(100);
        spoil();
        assert.match(JSON.stringify(serve()), /"kind":"salvaged"/);
        assert.ok(rows('open').length >= least, `${rows('open').length}`);
        assert.ok(names().some((name) => /\.damaged-.*-wal$/.test(name)));
      });

    slowIt('is damaged gives the same to the next start, at whichever step the salvage is killed', () => {
      killed(200);
      spoilt(`${file}-wal`, 0.5, 500);
      const damaged = [file, `${file}-wal`].map((name) => [name, fs.readFileSync(name)] as const);
      salvage(file, NOW);
      const [all, beside] = [rows('all'), names().length];
      let kills = 0;
      for (let step = 1; ; step += few(1, 5, 1)) {
        for (const name of names()) fs.rmSync(path.join(folder(), name));
        for (const [name, content] of damaged) fs.writeFileSync(name, content);
        if (!killedAt(step)) break;
        kills += 1;
        assert.equal(kinds(serve()).at(-1), 'opened', `killed at ${step}`);
        assert.deepEqual([rows('all'), names().length], [all, beside], `killed at ${step}`);
      }
      assert.ok(kills > 10, `${kills}`);
    });

    it('was cut off within its last commit is no damage', () => {
      killed(100);
      fs.truncateSync(`${file}-wal`, fs.statSync(`${file}-wal`).size - 500);
      assert.deepEqual(kinds(serve()), ['opened']);
      assert.equal(rows('open').length, 99);
    });
  });

  it('gives no sequence twice, though the newest were lost', () => {
    const last = Math.max(...fill(200).map(({ accepted }) => accepted.sequence));
    sql('DELETE FROM message WHERE sequence > 150');
    salvage(file, NOW);
    assert.ok(accept().sequence > last);
  });

  it('leaves out a row with a key that is beyond all', () => {
    fill(5);
    sql(`UPDATE message SET sequence = ${2 ** 50} WHERE sequence = 5`);
    salvage(file, NOW);
    const message = newMessage(proven());
    assert.deepEqual([accept(message).outcome, accept(message).outcome], ['new', 'repeat']);
  });

  it('stays where it is while the disk has no room for three of its size, and what is needed is told', () => {
    fs.writeFileSync(file, 'no database at all');
    fs.truncateSync(file, 2 ** 40);
    assert.match(JSON.stringify(serve()), /to salvage it 3298535 MB must be free on its disk: make room/);
    assert.deepEqual(names(), ['inbox.lock', 'inbox.sqlite']);
  });

  it('delivers an event of which the state is none any more', () => {
    fill(100);
    sql(`UPDATE message SET state = 'reaeived' WHERE sequence = 1`);
    const { open: salvaged } = salvage(file, NOW);
    assert.equal(salvaged, 10);
    assert.equal(rows('open').length, 10);
  });

  for (const seed of byLane([1], [2, 3, 4, 5, 6, 7, 8, 9, 10]))
    it(`gives nearly all of its events with 500 flipped bits: ${seed}`, () => {
      fill(1000);
      flipBits(file, 500, seed);
      const told = serve();
      assert.equal(kinds(told).at(-1), 'opened', JSON.stringify(told));
      assert.ok(rows('all').length > 900);
    });

  it('is left alone where another process has opened it since, which would go on in what is set aside', () => {
    fill(10);
    const other = new Store({ file, resumed: false });
    assert.throws(() => salvage(file, NOW), /another process has the file/);
    other.transaction(() => other.work.ping(undefined));
    other.close();
    assert.equal(rows('open').length, 1);
    assert.equal(names().filter((name) => name.includes('damaged')).length, 0);
  });

  it('has no event of an endpoint lost that can be read', () => {
    const filled = fill(2000);
    damagePage(file, 'message');
    damagePage(file, 'body');
    salvage(file, NOW);
    assert.ok(lease().filter(({ bytes }) => bytes !== undefined).length > filled.length / 10 - 20);
  });
});
