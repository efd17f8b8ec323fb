import type { Page } from 'playwright-core';
import { inDark, lineOf, openBoard, pictureIs } from '../../test/support/editor/alarm-board';
import { example, packagesFor } from '../../test/support/examples/examples';
import type { FlowNode, NodeRed } from '../../test/support/node-red/node-red';
import { DAYLIGHT } from './daylight';
import { TOLERANCE } from './picture-folder';
import { SCALE } from './frame';
import { FENCE, raiseAlarm, type SandboxAlarm } from './sandbox-alarm';
import type { Shoot } from './studio';
import { THEMES, type Theme } from './theme';

/** In order of arrival. */
const ALARMS: readonly SandboxAlarm[] = [
  { camera: 'SANDBOX Loading Bay 2', eventName: 'Loitering' },
  { camera: 'SANDBOX Gate 1', eventName: 'Vehicle at the gate' },
  FENCE,
];

/** The board of example 10, whose theme is set in its flow. */
export const BOARDS: readonly Shoot[] = THEMES.map(boardIn);

function boardIn(theme: Theme): Shoot {
  const name = `board-${theme}.png`;
  return {
    names: [name],
    palette: packagesFor('10'),
    take: async (nodeRed, studio) => {
      const flow = withoutAlarms(example('10'));
      await nodeRed.deploy(theme === 'dark' ? inDark(flow) : flow);
      const page = await openBoard(studio.browser, nodeRed, { operator: 'Anna', scale: SCALE });
      await page.addInitScript(DAYLIGHT);
      await page.reload();
      await fill(page, nodeRed);
      await studio.take(name, await page.screenshot(), TOLERANCE.alarms);
      await page.close();
    },
  };
}

/** Switches off the sandbox's own alarms: a new one would remove the last one's picture from the board. */
function withoutAlarms(flow: readonly FlowNode[]): FlowNode[] {
  return flow.map((node) => (node.type === 'rvm-cloud' ? { ...node, sandboxEvents: 0 } : node));
}

/** Raises three alarms, claims one, and shows another one with a comment. */
async function fill(page: Page, nodeRed: NodeRed): Promise<void> {
  for (const alarm of ALARMS) {
    await raiseAlarm(nodeRed, alarm);
    await lineOf(page, alarm.eventName).waitFor();
  }
  await lineOf(page, ALARMS[1]?.eventName ?? '').click();
  await page.keyboard.press('a');
  await lineOf(page, FENCE.eventName).click();
  await pictureIs(page, FENCE.eventName);
  await page.locator('.rvm-media iframe').waitFor();
  await page.keyboard.press('c');
  await page.keyboard.type('The guard is on the way');
  await page.keyboard.press('Enter');
  await page.locator('.rvm-trail li').waitFor();
  await page.keyboard.press('Escape');
  await page.mouse.move(0, 0);
}
