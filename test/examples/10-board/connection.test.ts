import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { choose, lineOf, openBoard } from '../../support/editor/alarm-board';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { boardFlow, postAlarm, saidOf, trailOf, trailWhen } from '../../support/examples/board';
import { packagesFor } from '../../support/examples/examples';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import { NodeRed } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';
import { PATIENCE, soon } from '../../support/time/patience';

const LINE = /^No connection to Node-RED: what you see is of \d+:\d+:\d+/;

describe('example 10, where Node-RED is gone', () => {
  const errors: string[] = [];
  let browser: TestBrowser;
  let nodeRed: NodeRed;
  let page: Page;
  let plan: Page;

  const red = (of: Page): ReturnType<Page['locator']> => of.locator('.rvm-no-connection', { hasText: LINE });

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([testBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
    await nodeRed.deploy(boardFlow());
    await inboxesOpen(nodeRed);
    page = await openBoard(browser, nodeRed, { errors, operator: 'Anna' });
    await postAlarm(nodeRed, { eventRuleName: 'Fence', alarmId: 'fence' });
    await trailWhen(nodeRed, 'Fence', ([row]) => row?.state === 'leased');
    await lineOf(page, 'Fence').waitFor();
    await choose(page, 'Fence');
    plan = await browser.newPage();
    plan.setDefaultTimeout(PATIENCE);
    await plan.goto(`${nodeRed.url}/dashboard/plan`);
    await plan.locator('.rvm-camera').first().waitFor();
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
  });

  it('says nothing of it while it is there', async () => {
    assert.equal(await red(page).count(), 0);
    assert.equal(await red(plan).count(), 0);
  });

  it('says so at once on both pages, and of when is what they show', async () => {
    await nodeRed.stop('SIGKILL');
    await soon(red(page).waitFor());
    await soon(red(plan).waitFor());
  });

  it('has no button that could be pressed, and none that lies under a note of the dashboard', async () => {
    const acts = page.locator('.rvm-acts button');
    assert.equal(await acts.count(), 5);
    for (const button of await acts.all()) assert.ok(await button.isDisabled());
    assert.equal(await page.getByText('Connection Lost').count(), 0);
  });

  it('keeps a comment that cannot be sent where it is written', async () => {
    const comment = page.getByPlaceholder('comment');
    await comment.fill('A cat');
    await comment.press('Enter');
    assert.equal(await comment.inputValue(), 'A cat');
  });

  it('lets no age go on', async () => {
    const age = (): Promise<string> => lineOf(page, 'Fence').locator('.rvm-when b').innerText();
    const before = await age();
    await page.waitForTimeout(2500);
    assert.equal(await age(), before);
  });

  it('says no more of it once it is back, and has sent nothing of what was done meanwhile', async () => {
    await page.locator('.rvm-list').focus();
    await page.keyboard.press('a');
    const { userDir, port } = nodeRed;
    nodeRed = await NodeRed.start({ userDir, port, palette: packagesFor('10') });
    await Promise.all([page, plan].map((each) => red(each).waitFor({ state: 'hidden' })));
    await postAlarm(nodeRed, { eventRuleName: 'Gate' });
    await page.locator('.rvm-count', { hasText: '2 open, 2 unclaimed' }).waitFor();
    assert.deepEqual((await trailOf(nodeRed)).flatMap(saidOf), []);
    assert.deepEqual(errors, []);
  });
});
