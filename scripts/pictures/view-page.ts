import type { Page } from 'playwright-core';
import { webhookFlow } from '../../test/support/node-red/flows';
import { probe, type FlowNode, type NodeRed } from '../../test/support/node-red/node-red';
import { eventually, PATIENCE } from '../../test/support/time/patience';
import { TOLERANCE } from './picture-folder';
import { raiseAlarm } from './sandbox-alarm';
import { SCALE } from './frame';
import type { Shoot, ScreenshotBrowser } from './studio';

const NAME = 'view-light.png';
/** Second of the clip, which begins five seconds before the alarm: the intruder is halfway up. */
const SHOWN_SECOND = 8;
const VIDEO = `[...document.querySelectorAll('video')].find((video) => !video.hidden)`;

/** The page of *view link*, in the middle of the alarm. */
export const VIEW_PAGE: Shoot = { names: [NAME], take };

async function take(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
  await nodeRed.deploy(flow());
  await raiseAlarm(nodeRed);
  const { payload } = await nodeRed.message('link');
  const page = await studio.browser.newPage({
    viewport: { width: 960, height: 744 },
    deviceScaleFactor: SCALE,
  });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${nodeRed.url}${String(payload)}`);
  await page.click('.rvm-start');
  await playTo(page, SHOWN_SECOND);
  await studio.take(NAME, await page.screenshot(), TOLERANCE.video);
  await page.close();
}

/** Waits without waitForFunction, which the content security policy of the page forbids. */
async function playTo(page: Page, second: number): Promise<void> {
  const isThere = `${VIDEO}?.currentTime >= ${second}`;
  await eventually(async () => (await page.evaluate(isThere)) === true, `second ${second} of the clip`);
}

function flow(): FlowNode[] {
  const wires = [['view'], [], []];
  const cloud = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
  const view = { id: 'view', type: 'rvm-view', z: 'tab', x: 300, y: 100, live: true, wires: [['link'], []] };
  return webhookFlow({ webhook: { wires }, cloud, station: { credentials: {} } }, view, probe('link'));
}
