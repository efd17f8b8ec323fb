import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { openEditor } from '../../../test/support/editor/browser';
import type { NodeRed } from '../../../test/support/node-red/node-red';
import { raiseAlarm } from '../sandbox-alarm';
import type { Shoot, ScreenshotBrowser } from '../studio';
import { settledByHand } from './flow';
import { Pointer } from './pointer';
import { Screencast, type ScreenFrame } from './screencast';
import { animate } from './webp';

const NAME = 'alarm-clip-settled.webp';
const SIZE = { width: 960, height: 620 };
/** Milliseconds that a viewer of the recording needs to see a change. */
const GLANCE = 1200;
/** Second of the clip, which begins five seconds before the alarm: the intruder has climbed the fence. */
const SEEN_SECOND = 9;

/** An alarm arrives, its picture and clip are shown, and it is settled: 20 seconds. */
export const RECORDING: Shoot = { names: [NAME], take };

async function take(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-recording-'));
  try {
    await nodeRed.deploy(settledByHand());
    const { page } = await openEditor(studio.browser, nodeRed, SIZE);
    await prepare(page);
    const frames = await film(page, nodeRed, folder);
    await page.close();
    studio.replace(NAME, await animate(frames, folder));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** Shows the flow and the sidebar, without pending requests and notifications. */
async function prepare(page: Page): Promise<void> {
  await page.evaluate(`RED.actions.invoke('core:toggle-left-sidebar'); RED.sidebar.show('rvm-sidebar')`);
  await page.click('.red-ui-sidebar-tab-bar [data-tab-id="debug"]');
  await page.click('.rvm-pending [data-action=accept]');
  // The sidebar removes no row while the pointer is over the list.
  await page.mouse.move(420, 420);
  await page.waitForSelector('.rvm-pending', { state: 'hidden' });
  await page.waitForSelector('.red-ui-notification', { state: 'detached' });
}

async function film(page: Page, nodeRed: NodeRed, folder: string): Promise<ScreenFrame[]> {
  const pointer = await Pointer.show(page, 420, 420);
  const screencast = await Screencast.start(page, folder);
  await delay(GLANCE);
  await raiseAlarm(nodeRed);
  await page.waitForFunction(`$('.rvm-events .rvm-thumbnail')[0]?.naturalWidth > 0`);
  await delay(GLANCE);
  await pointer.click('.rvm-events .rvm-opener');
  await page.waitForFunction(`$('.rvm-opened video:visible')[0]?.currentTime >= ${SEEN_SECOND}`);
  await pointer.click('.rvm-events .rvm-opener');
  await pointer.click('#handled .red-ui-flow-node-button-button');
  await page.waitForSelector('.rvm-events .rvm-row[data-state="delivered"]');
  await delay(2 * GLANCE);
  return screencast.stop();
}
