/** Renders the pictures of the README from the example flows themselves: `npm run pictures`. Needs Chromium. */
import fs from 'node:fs';
import path from 'node:path';
import { chromiumPath, openBrowser, openEditor } from '../test/support/browser';
import { NodeRed, type FlowNode } from '../test/support/node-red';
import { buildIfStale, ROOT } from './build';

const IMAGES = path.join(ROOT, 'docs', 'images');
const PICTURES = [
  { example: '01 - Alarm and its video.json', image: '01-alarm-and-its-video.png', alarms: true },
];
const MARGIN = 20;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

async function main(): Promise<void> {
  const chromium = chromiumPath();
  if (chromium === undefined)
    throw new Error('Chromium is needed to render pictures: install the package chromium.');
  buildIfStale();
  fs.mkdirSync(IMAGES, { recursive: true });
  const browser = await openBrowser(chromium);
  const nodeRed = await NodeRed.start();
  try {
    for (const { example, image, alarms } of PICTURES) {
      const text = fs.readFileSync(path.join(ROOT, 'examples', example), 'utf8');
      await nodeRed.deploy(JSON.parse(text) as FlowNode[]);
      const { page } = await openEditor(browser, nodeRed, '', '', 2);
      // With an alarm in, so that the picture shows the statuses of a running flow.
      if (alarms)
        await page.waitForFunction(
          `$('.red-ui-flow-node-status-label').text().includes('last ')`,
          undefined,
          { timeout: 30_000 },
        );
      const box = await page.evaluate<Box>(BOX_OF_FLOW);
      await page.screenshot({ path: path.join(IMAGES, image), clip: box });
      await page.close();
      console.log(`docs/images/${image}`);
    }
  } finally {
    await browser.close();
    await nodeRed.stopAndRemove();
  }
}

/** Runs in the page: the rectangle around all nodes with their statuses. */
const BOX_OF_FLOW = `(() => {
  const boxes = [...document.querySelectorAll('.red-ui-flow-node-group')].map((node) => node.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left)) - ${MARGIN};
  const top = Math.min(...boxes.map((box) => box.top)) - ${MARGIN};
  const right = Math.max(...boxes.map((box) => box.right)) + ${MARGIN};
  const bottom = Math.max(...boxes.map((box) => box.bottom)) + ${MARGIN};
  return { x: left, y: top, width: right - left, height: bottom - top };
})()`;

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
