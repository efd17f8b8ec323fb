import type { Browser, Page } from 'playwright-core';
import { choose, lineOf, openBoard } from '../../support/editor/alarm-board';
import { openBrowser } from '../../support/editor/browser';
import { boardFlow, postAlarm } from '../../support/examples/board-flow';
import { withChanges } from '../../support/examples/example-sandbox';
import { packagesFor } from '../../support/examples/examples';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import { NodeRed, type FlowNode } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';

/** The board, whose inbox knows nothing of what the operators settle and note. */
function flow(): FlowNode[] {
  const unknown = { delivery: 'nobody knows this', deliveryType: 'str' };
  return withChanges(boardFlow({ undoSeconds: 1 }), {
    'rvm-example-10-noted': unknown,
    'rvm-example-10-judged': unknown,
  });
}

describe('example 10, where an inbox does not take what an operator says', () => {
  let browser: Browser;
  let nodeRed: NodeRed;
  let page: Page;

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([openBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
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
});
