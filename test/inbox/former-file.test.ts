import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Store } from '../../lib/inbox/sqlite/store';
import type { Accepted, NewMessage, StoredMessage } from '../../lib/inbox/store/protocol';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { writeFormerFile, type FormerRow } from '../support/inbox/former-file';
import { ENDPOINT, proven } from './samples';

/** Enough for pages to leave the memory of a migration before its end. */
const ROWS = 400;
const DAY = 24 * 60 * 60 * 1000;

describe('C-135 a file that version 0.1 has written', () => {
  let folder: string;
  let messages: NewMessage[];
  let rows: FormerRow[];
  let store: Store | undefined;
  let now = 0;
  const file = (): string => path.join(folder, 'inbox.sqlite');

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-former-'));
    messages = Array.from({ length: ROWS }, () => newMessage(proven()));
    rows = messages.map((message, index) => formerRow(message, index));
    writeFormerFile(file(), rows);
  });
  afterEach(() => {
    store?.close();
    store = undefined;
    fs.rmSync(folder, { recursive: true });
  });

  function open(): Store {
    store?.close();
    store = new Store({ file: file(), resumed: false, steady: () => now });
    return store;
  }

  function accept(message: NewMessage): Accepted {
    const opened = store ?? open();
    return opened.transaction(() => opened.work.accept({ message, lease: 'no' }));
  }

  function all(): StoredMessage[] {
    const opened = store ?? open();
    return opened.transaction(() => opened.work.list({ state: 'all', limit: 2 * ROWS }));
  }

  const contentOf = ({ sequence, deliveryId, id, state }: StoredMessage | FormerRow): unknown[] => [
    sequence,
    deliveryId,
    id,
    state,
  ];

  function assertWhole(): void {
    const found = all().toSorted((one, other) => one.sequence - other.sequence);
    assert.deepEqual(found.map(contentOf), rows.map(contentOf));
    for (const [index, { facts, bytes }] of found.entries()) {
      assert.equal(facts, rows[index]?.facts);
      assert.deepEqual(Buffer.from(bytes ?? []), Buffer.from(rows[index]?.bytes ?? []));
    }
  }

  it('keeps every message with its body, its state and its ids', () => {
    assertWhole();
    open();
    assertWhole();
  });

  it('is sound afterwards', () => {
    open().close();
    store = undefined;
    const database = new DatabaseSync(file());
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), []);
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
    database.close();
  });

  it('knows every repeat, and a conflict', () => {
    for (const [index, message] of messages.entries()) {
      const { outcome, deliveryId } = accept(message);
      assert.deepEqual([outcome, deliveryId], ['repeat', rows[index]?.deliveryId]);
    }
    const [first = assert.fail()] = messages;
    assert.equal(accept({ ...first, fingerprint: 'other content' }).outcome, 'conflict');
  });

  it('knows that an alarm has come, and that it has ended', () => {
    const next = (index: number): NewMessage => ({
      ...newMessage(proven()),
      alarm: messages[index]?.alarm ?? assert.fail(),
    });
    const phase = ({ first, ended }: Accepted): boolean[] => [first, ended];
    assert.deepEqual(phase(accept(next(1))), [false, false]);
    assert.deepEqual(phase(accept(next(2))), [false, true]);
    assert.deepEqual(phase(accept(newMessage(proven()))), [true, false]);
  });

  it('gives its events on, which are settled by the ids that they had', () => {
    const opened = open();
    const given = opened.transaction(() =>
      opened.work.lease({ endpoint: ENDPOINT, limit: 2, health: 2, ordered: true }),
    );
    const waiting = rows.filter(({ state }) => state === 'received');
    assert.deepEqual(
      given.map(({ deliveryId }) => deliveryId),
      waiting.slice(0, 2).map(({ deliveryId }) => deliveryId),
    );
    const [{ deliveryId } = assert.fail()] = given;
    opened.transaction(() => opened.work.finish({ deliveryId, state: 'delivered', give: false }));
    assert.equal(opened.work.stateOf(deliveryId), 'delivered');
    assert.equal(opened.work.stateOf(randomUUID()), undefined);
  });

  it('goes on with its sequence, also where its newest message is kept no more', () => {
    const opened = open();
    for (const { deliveryId } of rows)
      opened.transaction(() => opened.work.finish({ deliveryId, state: 'delivered', give: false }));
    now = 40 * DAY;
    while (opened.transaction(() => opened.work.tidy({ keys: DAY, bodies: DAY })));
    now = 0;
    open();
    assert.equal(accept(newMessage(proven())).sequence, (rows.at(-1)?.sequence ?? 0) + 1);
  });

  it('is what it was where the process is killed in the middle, and is brought forward at the next start', () => {
    const before = versionIn(file());
    const program = path.join(__dirname, '..', 'support', 'inbox', 'die-in-migration.ts');
    const { signal } = spawnSync(process.execPath, ['--import=tsx', program, file()], { stdio: 'inherit' });
    assert.equal(signal, 'SIGKILL');
    assert.ok(fs.statSync(`${file()}-wal`).size > 0, 'nothing had been written yet');
    assert.equal(versionIn(file()), before);
    assertWhole();
    assert.equal(accept(messages[0] ?? assert.fail()).outcome, 'repeat');
  });
});

/** Delivery ids of either kind, states of every kind, a conflict, and an alarm that has ended. */
function formerRow(message: NewMessage, index: number): FormerRow {
  const states = ['delivered', 'received', 'delivered', 'dead', 'received'] as const;
  const random = randomUUID();
  return {
    ...message,
    sequence: 3 * index + 1,
    deliveryId: index % 2 === 0 ? random : `${random.slice(0, 14)}7${random.slice(15)}`,
    copy: 0,
    state: states[index % states.length] ?? 'received',
    alarm: message.alarm ?? null,
    isEnd: index === 2,
  };
}

function versionIn(file: string): unknown {
  const database = new DatabaseSync(file);
  const row = database.prepare('PRAGMA user_version').get();
  database.close();
  return row?.['user_version'];
}
