import { openEditor } from '../../test/support/editor/browser';
import { example, EXAMPLES, packagesFor } from '../../test/support/examples/examples';
import { TOLERANCE } from './picture-folder';
import { MARGIN, SCALE, type Box } from './frame';
import type { Shoot } from './studio';

/** The flows of the examples, after a first alarm if there is one, so that the pictures show statuses. */
export const EXAMPLE_FLOWS: readonly Shoot[] = EXAMPLES.map(flowOf);

function flowOf(file: string): Shoot {
  const name = `${file
    .replace('.json', '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .toLowerCase()}.png`;
  return {
    names: [name],
    palette: packagesFor(file),
    take: async (nodeRed, studio) => {
      const flow = example(file);
      await nodeRed.deploy(flow);
      const { page } = await openEditor(studio.browser, nodeRed, { width: 2600, height: 1400, scale: SCALE });
      if (flow.some(({ type, sandboxEvents }) => type === 'rvm-cloud' && Number(sandboxEvents) > 0))
        await page.waitForFunction(
          `$('.red-ui-flow-node-status-label').text().includes('last ')`,
          undefined,
          { timeout: 30_000 },
        );
      const clip = await page.evaluate<Box>(BOX_OF_FLOW);
      await studio.take(name, await page.screenshot({ clip }), TOLERANCE.statuses);
      await page.close();
    },
  };
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
