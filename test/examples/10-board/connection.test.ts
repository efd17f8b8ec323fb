import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { choose, lineOf } from '../../support/editor/alarm-board';
import {
  boardFlow,
  describeBoard,
  postAlarm,
  raiseAtBoard,
  saidOf,
  trailOf,
} from '../../support/examples/board';
import { soon } from '../../support/time/patience';

const LINE = /^No connection to Node-RED: what you see is of \d+:\d+:\d+/;

describeBoard('where Node-RED is gone', { flow: boardFlow(), operator: 'Anna' }, (board) => {
  let plan: Page;

  const red = (of: Page): ReturnType<Page['locator']> => of.locator('.rvm-no-connection', { hasText: LINE });

  before(async () => {
    await raiseAtBoard(board.nodeRed, 'Fence');
    await lineOf(board.page, 'Fence').waitFor();
    await choose(board.page, 'Fence');
    plan = await board.openPlan();
  });

  it('says nothing of it while it is there', async () => {
    assert.equal(await red(board.page).count(), 0);
    assert.equal(await red(plan).count(), 0);
  });

  it('says so at once on both pages, and of when is what they show', async () => {
    await board.nodeRed.stop('SIGKILL');
    await soon(red(board.page).waitFor());
    await soon(red(plan).waitFor());
  });

  it('has no button that could be pressed, and none that lies under a note of the dashboard', async () => {
    const acts = board.page.locator('.rvm-acts button');
    assert.equal(await acts.count(), 5);
    for (const button of await acts.all()) assert.ok(await button.isDisabled());
    assert.equal(await board.page.getByText('Connection Lost').count(), 0);
  });

  it('keeps a comment that cannot be sent where it is written', async () => {
    const comment = board.page.getByPlaceholder('comment');
    await comment.fill('A cat');
    await comment.press('Enter');
    assert.equal(await comment.inputValue(), 'A cat');
  });

  it('lets no age go on', async () => {
    const age = (): Promise<string> => lineOf(board.page, 'Fence').locator('.rvm-when b').innerText();
    const before = await age();
    await board.page.waitForTimeout(2500);
    assert.equal(await age(), before);
  });

  it('says no more of it once it is back, and has sent nothing of what was done meanwhile', async () => {
    await board.page.locator('.rvm-list').focus();
    await board.page.keyboard.press('a');
    await board.nodeRed.restart();
    await Promise.all([board.page, plan].map((each) => red(each).waitFor({ state: 'hidden' })));
    await postAlarm(board.nodeRed, { eventRuleName: 'Gate' });
    await board.page.locator('.rvm-count', { hasText: '2 open, 2 unclaimed' }).waitFor();
    assert.deepEqual((await trailOf(board.nodeRed)).flatMap(saidOf), []);
  });
});
