import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openBoard } from '../../support/editor/alarm-board';
import { openBrowser } from '../../support/editor/browser';
import { boardFlow } from '../../support/examples/board-flow';
import { packagesFor } from '../../support/examples/examples';
import { NodeRed } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';

describe('example 10, where an inbox cannot be read', () => {
  const errors: string[] = [];
  let browser: Browser;
  let nodeRed: NodeRed;
  let page: Page;
  /** In the way of the file. */
  let obstacle: string;

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([openBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
    obstacle = path.join(nodeRed.userDir, 'remote-monitoring', 'inbox.sqlite');
    fs.mkdirSync(obstacle, { recursive: true });
    await nodeRed.deploy(boardFlow({ undoSeconds: 1 }));
    await nodeRed.logged(/cannot store/);
    page = await openBoard(browser, nodeRed, { errors, operator: 'Anna' });
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
  });

  const fault = (text: string): ReturnType<Page['locator']> =>
    page.locator('.rvm-warning', { hasText: text });

  it('says so before there was any list, and not that no alarm is open', async () => {
    await fault('The inbox cannot be read (STORE_FAILED)').waitFor();
    await page.locator('.rvm-count', { hasText: 'No list yet' }).waitFor();
    assert.equal(await page.getByText('No open alarm').count(), 0);
  });

  it('says no more of it once it can, and that no alarm is open', async () => {
    fs.rmdirSync(obstacle);
    await page.getByText('No open alarm').waitFor();
    await fault('cannot be read').waitFor({ state: 'hidden' });
  });

  it('runs without an error in the browser', () => {
    assert.deepEqual(errors, []);
  });
});
