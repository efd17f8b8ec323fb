import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { choose, lineOf, openBoard } from '../../support/editor/alarm-board';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { boardFlow, postAlarm, trailWhen } from '../../support/examples/board';
import { withChanges } from '../../support/examples/example-run';
import { packagesFor } from '../../support/examples/examples';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import { NodeRed, type FlowNode } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';

const UNKNOWN = { delivery: 'nobody knows this', deliveryType: 'str' };

/** The board, whose inbox knows nothing of what the operators settle and note. */
function flow(): FlowNode[] {
  return withChanges(boardFlow({ undoSeconds: 1 }), {
    'rvm-example-10-noted': UNKNOWN,
    'rvm-example-10-judged': UNKNOWN,
  });
}

describe('example 10, where an inbox does not take what an operator says', () => {
  let browser: TestBrowser;
  let nodeRed: NodeRed;
  let page: Page;

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([testBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
    await nodeRed.deploy(flow());
    await inboxesOpen(nodeRed);
    page = await openBoard(browser, nodeRed, { operator: 'Anna' });
    await postAlarm(nodeRed, { eventRuleName: 'Fence' });
    await lineOf(page, 'Fence').waitFor();
    await choose(page, 'Fence');
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
  });

  for (const [what, name] of [
    ['a claim', /^claim/],
    ['a verdict', /^real/],
  ] as const)
    it(`says that ${what} was not stored, and shows the alarm as before`, async () => {
      await page.locator('.rvm-acts').getByRole('button', { name }).click();
      await page.getByText('Not stored (UNKNOWN_DELIVERY): try again.').waitFor();
      await lineOf(page, 'Fence').getByText('new', { exact: true }).waitFor();
      await page.locator('.rvm-count', { hasText: '1 open, 1 unclaimed' }).waitFor();
    });

  it('gives a comment back that was not stored', async () => {
    const draft = page.getByPlaceholder('comment');
    await draft.fill('A cat');
    await draft.press('Enter');
    await page.locator('.rvm-told', { hasText: 'Not stored' }).waitFor();
    assert.equal(await draft.inputValue(), 'A cat');
  });

  it('settles the verdict of one operator where the comment of another was not stored meanwhile', async () => {
    await nodeRed.deploy(withChanges(boardFlow(), { 'rvm-example-10-noted': UNKNOWN }));
    await inboxesOpen(nodeRed);
    const [anna, ben] = [
      await openBoard(browser, nodeRed, { operator: 'Anna' }),
      await openBoard(browser, nodeRed, { operator: 'Ben' }),
    ];
    await Promise.all([anna, ben].map((each) => choose(each, 'Fence')));
    await ben.getByPlaceholder('comment').fill('A cat');
    await anna.locator('.rvm-acts').getByRole('button', { name: /^real/ }).click();
    await lineOf(ben, 'Fence').getByText('real, Anna').waitFor();
    await ben.getByPlaceholder('comment').press('Enter');
    await ben.getByText('Not stored (UNKNOWN_DELIVERY): try again.').waitFor();
    await trailWhen(nodeRed, 'Fence', ([row]) => row?.state === 'delivered');
  });
});
