import type { Browser, Page } from 'playwright-core';
import type { FlowNode, NodeRed } from '../node-red/node-red';
import { PATIENCE } from '../time/patience';

/** Colours of the theme for a dark room, in the place of those of the example. */
const DARK = {
  surface: '#1b1d21',
  primary: '#3b9eff',
  bgPage: '#111113',
  groupBg: '#1b1d21',
  groupOutline: '#33363c',
};

/** The alarm board of example 10 in a page of its own, once its table is there. */
export async function openBoard(browser: Browser, nodeRed: NodeRed, errors: string[] = []): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1400, height: 700 }, deviceScaleFactor: 2 });
  page.setDefaultTimeout(PATIENCE);
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('dialog', (dialog) => {
    errors.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${nodeRed.url}/dashboard/alarms`);
  await page.waitForSelector('.rvm-board tbody tr');
  return page;
}

/** The flow of example 10 with a dark theme. */
export function inDark(flow: readonly FlowNode[]): FlowNode[] {
  return flow.map((node) => (node.type === 'ui-theme' ? { ...node, colors: DARK } : node));
}

/** Waits until the board shows so many alarms and a picture of one of them. */
export async function boardIsFull(page: Page, alarms = 3): Promise<void> {
  await page.waitForFunction(
    `document.querySelectorAll('.rvm-board tr.rvm-new').length >= ${alarms} &&
      (document.querySelector('.rvm-picture img')?.naturalWidth ?? 0) > 0`,
    undefined,
    { timeout: 60_000 },
  );
}
