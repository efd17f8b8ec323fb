import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { choose, lineOf, openBoard } from '../../support/editor/alarm-board';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { boardFlow, postAlarm } from '../../support/examples/board';
import { packagesFor } from '../../support/examples/examples';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import { NodeRed, type FlowNode } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';

const SECOND = '/remote-monitoring/example-10-second';

/** The board, with a second webhook in whose inbox is in a folder of its own. */
function flow(folder: string): FlowNode[] {
  const nodes = boardFlow({ undoSeconds: 1 });
  const [webhook] = nodes.filter(({ type }) => type === 'rvm-webhook-in');
  const second = { ...webhook, id: 'second', type: 'rvm-webhook-in', path: SECOND, inbox: 'inbox', y: 600 };
  return [...nodes, second, { id: 'inbox', type: 'rvm-inbox', name: '', folder }];
}

describe('example 10, where an inbox cannot be read', () => {
  const errors: string[] = [];
  let browser: TestBrowser;
  let nodeRed: NodeRed;
  let page: Page;

  /** A folder in the way of the file of an inbox. */
  function block(folder: string): string {
    const obstacle = path.join(nodeRed.userDir, folder, 'inbox.sqlite');
    fs.mkdirSync(obstacle, { recursive: true });
    return obstacle;
  }
  const fault = (text: string): Locator => page.locator('.rvm-warning', { hasText: text });
  const count = (text: string): Promise<void> => page.locator('.rvm-count', { hasText: text }).waitFor();

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([testBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
  });

  it('says so before there was any list, and not that no alarm is open', async () => {
    block('remote-monitoring');
    await nodeRed.deploy(boardFlow());
    await nodeRed.logged(/cannot store/);
    page = await openBoard(browser, nodeRed, { errors, operator: 'Anna' });
    await fault('The inbox cannot be read (STORE_FAILED)').waitFor();
    await count('No list yet');
    assert.equal(await page.getByText('No open alarm').count(), 0);
  });

  it('says no more of it once it can, and that no alarm is open', async () => {
    fs.rmdirSync(block('remote-monitoring'));
    await page.getByText('No open alarm').waitFor();
    await fault('cannot be read').waitFor({ state: 'hidden' });
  });

  it('keeps the alarms of one that cannot be read among others, and says so', async () => {
    await nodeRed.deploy(flow('second'));
    await inboxesOpen(nodeRed);
    await page.close();
    page = await openBoard(browser, nodeRed, { errors, operator: 'Anna' });
    await postAlarm(nodeRed, { eventRuleName: 'Fence', alarmId: 'fence' }, SECOND);
    await postAlarm(nodeRed, { eventRuleName: 'Gate', alarmId: 'gate' });
    await count('2 open');
    block('broken');
    await nodeRed.deploy(flow('broken'), 'nodes');
    await fault('Not all alarms can be read').waitFor();
    await count('2 open');
  });

  it('keeps none that is settled meanwhile', async () => {
    await choose(page, 'Gate');
    await page.keyboard.press('f');
    await count('1 open');
    await lineOf(page, 'Fence').waitFor();
  });

  it('shows what there is once all can be read', async () => {
    await nodeRed.deploy(flow('second'), 'nodes');
    await fault('Not all alarms can be read').waitFor({ state: 'hidden' });
    await count('1 open');
    await lineOf(page, 'Fence').waitFor();
  });

  it('runs without an error in the browser', () => {
    assert.deepEqual(errors, []);
  });
});
