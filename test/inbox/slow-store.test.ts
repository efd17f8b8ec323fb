import assert from 'node:assert/strict';
import {
  SlowStore,
  StoreHealth,
  type HangingStore,
  type InboxEvents,
  type SlowPeriod,
} from '../../lib/inbox/store-health';
import { SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, PATIENCE } from '../support/time/patience';
import { proven } from './samples';

const MINUTE = 60_000;

describe('a store that was too slow', () => {
  let told: (SlowPeriod | HangingStore)[];
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
  const causesTold = (): string =>
    told.map((news) => (news.kind === 'slow' ? news.cause : news.kind)).join(' ');

  it('tells what took how long', () => {
    spell(4000, { work: 300, sync: 2500 });
    assert.deepEqual(told, [
      { kind: 'slow', cause: 'sync', took: 4000, sync: 2500, work: 300, slowSyncs: 1 },
    ]);
  });

  const SLOW_SYNC = { sync: 2900 };
  const BUSY = { work: 900, sync: 40 };
  for (const [title, minutes, measured, causes] of [
    [
      'does not blame the disk of a machine that was merely busy, however often',
      [11, 11, 11],
      BUSY,
      'busy busy busy',
    ],
    [
      'blames the disk where the sync itself was slow three times within an hour',
      [11, 11, 11],
      SLOW_SYNC,
      'sync sync disk',
    ],
    ['forgets a slow sync after an hour', [40, 40, 40, 40], SLOW_SYNC, 'sync sync sync sync'],
    ['is one line for each cause in ten minutes', [1, 1, 1, 1, 1, 10], {}, 'busy busy'],
  ] as const)
    it(title, () => {
      for (const passed of minutes) {
        time += passed * MINUTE;
        spell(3000, measured);
      }
      assert.equal(causesTold(), causes);
    });

  it('counts a slow sync that kept no message waiting for too long', () => {
    for (let count = 0; count < 2; count += 1) slow.measured({ work: 0, sync: 1500 });
    spell(3000, SLOW_SYNC);
    assert.equal(causesTold(), 'disk');
  });

  it('tells nothing where a fault was found meanwhile, which is told by itself', () => {
    slow.begins();
    slow.answered(3000);
    slow.forget();
    slow.ends();
    assert.deepEqual(told, []);
  });
});

describe('an inbox whose store answers late', () => {
  const stand = new SpillStand({ timeoutMs: 500 });

  it('spills, is not durable meanwhile, and tells at the end what took so long instead of blaming the disk', async () => {
    const { inbox } = stand;
    const late = inbox.answersLate();
    assert.equal((await inbox.accept(proven())).outcome, 'new');
    assert.deepEqual(inbox.state(), { durable: false, fault: 'it answers too slowly', spilled: 1 });
    inbox.storeNews.onSlow({ work: 30, sync: 5 });
    late.answer();
    await eventually(() => inbox.state().durable === true, 'the end of it');
    const { cause, work, sync, took } = stand.news.find((each) => each.kind === 'slow') ?? assert.fail();
    assert.deepEqual([cause, work, sync, took >= 500], ['busy', 30, 5, true]);
    assert.ok(!stand.news.some(({ kind }) => kind === 'fault'));
  });
});

describe('an inbox whose store fails in two ways by turns', () => {
  it('is told of each once', () => {
    const told: InboxEvents[] = [];
    const log = (news: InboxEvents): void => void told.push(news);
    const health = new StoreHealth({
      lookAgain: PATIENCE,
      recover: async () => false,
      changed: () => undefined,
      log,
    });
    for (const reason of [
      'its file was removed',
      'it cannot be opened',
      'its file was removed',
      'it cannot be opened',
    ])
      health.failed(reason);
    assert.deepEqual(told, [
      { kind: 'fault', reason: 'its file was removed' },
      { kind: 'fault', reason: 'it cannot be opened' },
    ]);
  });
});
