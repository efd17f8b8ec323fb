import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DurableInbox } from '../../lib/inbox/durable-inbox';
import { SlowStore, type HangingStore, type SlowSpell } from '../../lib/inbox/slow-store';
import { Store } from '../../lib/inbox/sqlite/store';
import type { StoreNews, StorePort } from '../../lib/inbox/store/port';
import type { InboxNews } from '../../lib/inbox/store-health';
import { eventually } from '../support/time/patience';
import { proven } from './samples';

const MINUTE = 60_000;

describe('a store that was too slow', () => {
  let told: (SlowSpell | HangingStore)[];
  let time: number;
  let slow: SlowStore;
  beforeEach(() => {
    told = [];
    time = 0;
    slow = new SlowStore(
      (news) => told.push(news),
      () => time,
    );
  });
  afterEach(() => slow.forget());

  /** A message took so long, in milliseconds, while a batch took so long for its work and its sync. */
  function spell(took: number, { work = 0, sync = 0 } = {}): void {
    slow.begins();
    if (work + sync > 0) slow.measured({ work, sync });
    slow.answered(took);
    slow.ends();
  }
  const causes = (): string[] => told.map((news) => (news.kind === 'slow' ? news.cause : news.kind));

  it('tells what took how long', () => {
    spell(4000, { work: 300, sync: 2500 });
    assert.deepEqual(told, [
      { kind: 'slow', cause: 'sync', took: 4000, sync: 2500, work: 300, slowSyncs: 1 },
    ]);
  });

  it('does not blame the disk of a machine that was merely busy, however often', () => {
    for (let i = 0; i < 5; i += 1) {
      time += 11 * MINUTE;
      spell(3000, { work: 900, sync: 40 });
    }
    assert.deepEqual(causes(), ['busy', 'busy', 'busy', 'busy', 'busy']);
  });

  it('blames the disk where the sync itself was slow three times within an hour', () => {
    for (let i = 0; i < 3; i += 1) {
      time += 11 * MINUTE;
      spell(3000, { sync: 2900 });
    }
    assert.deepEqual(causes(), ['sync', 'sync', 'disk']);
  });

  it('forgets a slow sync after an hour', () => {
    for (let i = 0; i < 5; i += 1) {
      time += 40 * MINUTE;
      spell(3000, { sync: 2900 });
    }
    assert.deepEqual(causes(), ['sync', 'sync', 'sync', 'sync', 'sync']);
  });

  it('counts a slow sync that kept no message waiting for too long', () => {
    slow.measured({ work: 0, sync: 1500 });
    slow.measured({ work: 0, sync: 1500 });
    spell(3000, { sync: 2900 });
    assert.deepEqual(causes(), ['disk']);
  });

  it('is one line for each cause in ten minutes', () => {
    for (let i = 0; i < 5; i += 1) {
      time += MINUTE;
      spell(3000);
    }
    assert.deepEqual(causes(), ['busy']);
    time += 10 * MINUTE;
    spell(3000);
    assert.deepEqual(causes(), ['busy', 'busy']);
  });

  it('tells nothing where a fault was found meanwhile, which is told by itself', () => {
    slow.begins();
    slow.answered(3000);
    slow.forget();
    slow.ends();
    assert.deepEqual(told, []);
  });
});

/** Answers when it is let to. */
class LateStore implements StorePort {
  readonly store: Store;
  #release: (() => void)[] = [];
  isLate = false;

  constructor(
    file: string,
    readonly news: StoreNews,
  ) {
    this.store = new Store({ file, resumed: false });
    queueMicrotask(() => news.onOpened(this.store.opened));
  }

  release(): void {
    this.isLate = false;
    for (const release of this.#release.splice(0)) release();
  }

  call: StorePort['call'] = async (name, take) => {
    if (this.isLate) await new Promise<void>((resolve) => this.#release.push(resolve));
    return this.store.transaction(() => this.store.work[name](take));
  };

  async close(): Promise<void> {
    this.store.close();
  }
}

describe('an inbox whose store answers late', () => {
  it('spills, is not durable meanwhile, and tells at the end what took so long instead of blaming the disk', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-late-'));
    const news: InboxNews[] = [];
    let port: LateStore | undefined;
    const inbox = new DurableInbox({
      file: path.join(folder, 'inbox.sqlite'),
      spillFolder: path.join(folder, 'spill'),
      keep: { keys: 7, bodies: 7 },
      spillAfter: 20,
      lookAgain: 20,
      log: (line) => news.push(line),
      open: (told) => (port = new LateStore(path.join(folder, 'inbox.sqlite'), told)),
    });
    const late = port ?? assert.fail();
    try {
      await eventually(() => inbox.state().durable === true, 'the store to be open');
      late.isLate = true;
      assert.equal((await inbox.accept(proven())).outcome, 'new');
      assert.deepEqual(inbox.state(), { durable: false, fault: 'it answers too slowly', spilled: 1 });
      late.news.onSlow({ work: 30, sync: 5 });
      late.release();
      await eventually(() => inbox.state().durable === true, 'the end of it');
      const spell = news.find((each) => each.kind === 'slow') ?? assert.fail();
      assert.deepEqual([spell.cause, spell.work, spell.sync], ['busy', 30, 5]);
      assert.ok(spell.took >= 20);
      assert.equal(
        news.some(({ kind }) => kind === 'fault'),
        false,
      );
    } finally {
      await inbox.close();
      fs.rmSync(folder, { recursive: true });
    }
  });
});
