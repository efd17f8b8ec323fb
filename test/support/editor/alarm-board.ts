import type { Locator, Page } from 'playwright-core';
import type { FlowNode, NodeRed } from '../node-red/node-red';
import { eventually, PATIENCE } from '../time/patience';
import type { TestBrowser } from './browser';

/** Colours of the theme for a dark room, in the place of those of the example. */
const DARK = {
  surface: '#1b1d21',
  primary: '#3b9eff',
  bgPage: '#111113',
  groupBg: '#1b1d21',
  groupOutline: '#33363c',
};

/**
 * Counts the tones that the page plays. A Chromium without a window lets sound through from the start: here it begins as in one
 * with a window, where a first click has to come.
 */
const COUNT_TONES = `{
  window.AudioContext = class extends AudioContext {
    constructor() {
      super();
      void this.suspend();
    }
  };
  window.tones = 0;
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (...when) {
    window.tones += 1;
    return start.apply(this, when);
  };
}`;

interface BoardOptions {
  /** Errors of the page are put there. */
  errors?: string[];
  /** Who sits before it; nobody has said so where it is absent. */
  operator?: string;
  width?: number;
  height?: number;
  /** Pixels of a picture for each of the page. */
  scale?: number;
  /** Below the base of the dashboard. */
  path?: string;
}

/** The alarm board of example 10 in a browser of its own, which shares nothing with another one. */
export async function openBoard(
  browser: TestBrowser,
  nodeRed: NodeRed,
  { errors = [], operator, width = 1366, height = 768, scale = 1, path = 'alarms' }: BoardOptions = {},
): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: scale });
  page.setDefaultTimeout(PATIENCE);
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('dialog', (dialog) => {
    errors.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${nodeRed.url}/dashboard/${path}`);
  await page.locator('.rvm-board').waitFor();
  if (operator !== undefined) await page.getByLabel('Operator').fill(operator);
  return page;
}

/** Loads the page once more. @returns how many tones it has played since its last load */
export async function countTones(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(COUNT_TONES);
  await page.reload();
  return () => page.evaluate('window.tones');
}

/** The line of the alarm that is named so. */
export function lineOf(page: Page, text: string): Locator {
  return page.locator('.rvm-list li', { has: page.locator('.rvm-what b', { hasText: text }) });
}

/** Chooses an alarm, and leaves the list: nothing of it stands still for the pointer. */
export async function choose(page: Page, text: string): Promise<void> {
  await lineOf(page, text).click();
  await page.locator('.rvm-alarm h2', { hasText: text }).waitFor();
  await page.mouse.move(0, 0);
}

/** Waits for an alarm, and lets it in where the list stands still. */
export async function letIn(page: Page, text: string): Promise<void> {
  await eventually(
    async () => {
      await page.evaluate(`document.querySelector('.rvm-more:not(:disabled)')?.click()`);
      return (await lineOf(page, text).count()) > 0;
    },
    text,
    100,
  );
}

/** Waits for a picture that has loaded, of the alarm that is named so. */
export async function pictureIs(page: Page, text: string): Promise<void> {
  await page.waitForFunction(
    `document.querySelector('.rvm-alarm h2')?.innerText === ${JSON.stringify(text)} &&
      document.querySelector('.rvm-media img')?.naturalWidth > 0`,
  );
}

/** The flow of example 10 with a dark theme. */
export function inDark(flow: readonly FlowNode[]): FlowNode[] {
  return flow.map((node) => (node.type === 'ui-theme' ? { ...node, colors: DARK } : node));
}
