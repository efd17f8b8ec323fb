import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { InlineInbox } from '../support/inbox/each-store';
import { eventually } from '../support/time/patience';
import { fail, HookedInbox, temporaryFolder, type Hook } from '../support/inbox/hooked-inbox';
import { proven, Taker } from './samples';

describe('what a flow is told of the time in which its inbox fails', () => {
  let folder: string;
  let inbox: InlineInbox;
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    inbox = new InlineInbox({ spillFolder: path.join(folder, 'spill'), lookAgain: 20 });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
    inbox.fails = true;
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  it('begins when there is a flow to tell, where there was none at first', async () => {
    for (let count = 0; count < 2; count += 1) await inbox.accept(proven());
    const taker = new Taker(inbox);
    assert.deepEqual(taker.spells, [{ count: 2, isOver: false }]);
    await inbox.accept(proven());
    inbox.fails = false;
    await eventually(() => taker.spells.length > 1, 'the end');
    assert.deepEqual(taker.spells, [
      { count: 2, isOver: false },
      { count: 3, isOver: true },
    ]);
  });

  it('begins when the flow is started, where nothing would reach it yet', async () => {
    const taker = new Taker(inbox);
    taker.consumption.pause();
    await inbox.accept(proven());
    assert.deepEqual(taker.spells, []);
    taker.consumption.resume();
    assert.deepEqual(taker.spells, [{ count: 1, isOver: false }]);
  });

  it('ends for the next flow, where the one that was told of the begin is gone', async () => {
    const former = new Taker(inbox);
    await inbox.accept(proven());
    await eventually(() => former.ids.length === 1, 'the event');
    await former.consumption.end();
    inbox.fails = false;
    await eventually(
      () => inbox.state().durable === true && fs.readdirSync(path.join(folder, 'spill')).length === 0,
      'the end of the fault',
    );
    assert.deepEqual(new Taker(inbox).spells, [{ count: 1, isOver: true }]);
  });

  it('ends after a restart, with what was spilled before it', async () => {
    for (let count = 0; count < 2; count += 1) await inbox.accept(proven());
    // What the disk has is what a kill leaves there.
    fs.cpSync(path.join(folder, 'spill'), path.join(folder, 'after'), { recursive: true });
    const next = new InlineInbox({ spillFolder: path.join(folder, 'after'), lookAgain: 20 });
    try {
      const taker = new Taker(next);
      await eventually(() => taker.spells.length > 0, 'the end');
      assert.deepEqual(taker.spells, [{ count: 2, isOver: true }]);
    } finally {
      await next.close();
    }
  });
});

describe('the end of a time in which an inbox fails', () => {
  let inbox: HookedInbox;
  let taker: Taker;
  let inLog: number[];
  beforeEach(() => {
    inLog = [];
    inbox = new HookedInbox(
      temporaryFolder(),
      fail,
      (news) => news.kind === 'read-back' && inLog.push(news.count),
    );
    taker = new Taker(inbox);
  });
  afterEach(async () => {
    inbox.hook = pass;
    await inbox.close();
    fs.rmSync(inbox.folder, { recursive: true });
  });
  const pass: Hook = (_name, act) => act();
  const told = (): number[] => taker.spells.filter(({ isOver }) => isOver).map(({ count }) => count);

  it('has one figure for the flow and for the log, where the inbox fails once more while it takes in what was spilled', async () => {
    for (let count = 0; count < 150; count += 1) await inbox.accept(proven());
    let brought = 0;
    inbox.hook = (name, act) => {
      if (name === 'bring') brought += 1;
      return brought > 100 ? fail() : act();
    };
    await eventually(() => brought > 100, 'the first hundred');
    inbox.hook = pass;
    await eventually(() => told().length > 0 && inLog.length > 0, 'the end');
    assert.deepEqual([told(), inLog], [[150], [150]]);
  });

  it('counts neither for the flow nor for the log what the inbox would not have', async () => {
    for (let count = 0; count < 3; count += 1) await inbox.accept(proven());
    let brought = 0;
    // The first one, each of the two times that it is offered.
    inbox.hook = (name, act) => (name === 'bring' && [1, 4].includes((brought += 1)) ? fail() : act());
    await eventually(() => told().length > 0 && inLog.length > 0, 'the end');
    assert.deepEqual([told(), inLog], [[2], [2]]);
  });
});
