import type { Page } from 'playwright-core';
import { example, packagesFor } from '../../test/support/examples/examples';
import type { FlowNode, NodeRed } from '../../test/support/node-red/node-red';
import { PATIENCE } from '../../test/support/time/patience';
import { TOLERANCE } from './picture-folder';
import { FENCE, raiseAlarm, type SandboxAlarm } from './sandbox-alarm';
import { SCALE } from './frame';
import type { Shoot } from './studio';

/** In order of arrival; some have the verdict of a person. */
const ALARMS: readonly (SandboxAlarm & { verdict?: 'real' | 'false alarm' })[] = [
  { camera: 'SANDBOX Yard 1', eventName: 'Cat in the yard', verdict: 'false alarm' },
  { camera: 'SANDBOX Gate 1', eventName: 'Vehicle at the gate' },
  { camera: 'SANDBOX Yard 1', eventName: 'Person in the yard', verdict: 'real' },
  { camera: 'SANDBOX Loading Bay 2', eventName: 'Loitering' },
  { ...FENCE, verdict: 'real' },
];
/** Delay of the panel in seconds. */
const PANEL = 5;

/** The statistics board of example 18, with alarms of one hour. */
export const STATISTICS: Shoot = { names: ['statistics.png'], palette: packagesFor('18'), take };

async function take(nodeRed: NodeRed, studio: Parameters<Shoot['take']>[1]): Promise<void> {
  await nodeRed.deploy(example('18').map(quick));
  for (const { camera, eventName } of ALARMS) await raiseAlarm(nodeRed, { camera, eventName });
  const page = await studio.browser.newPage({
    viewport: { width: 1366, height: 860 },
    deviceScaleFactor: SCALE,
  });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${nodeRed.url}/dashboard/statistics`);
  for (const alarm of ALARMS) await judge(page, alarm);
  // Until all are settled and no animation runs.
  await page.waitForTimeout((PANEL + 10) * 1000);
  await page.mouse.move(0, 0);
  await studio.take('statistics.png', await page.screenshot(), TOLERANCE.alarms);
  await page.close();
}

async function judge(page: Page, { eventName, verdict }: (typeof ALARMS)[number]): Promise<void> {
  const row = page.locator('.rvm-verdicts tbody tr', { hasText: eventName });
  await row.waitFor();
  if (verdict === undefined) return;
  await row.getByRole('button', { name: verdict }).click();
  await row.locator('td').nth(4).getByText(verdict).waitFor();
}

/** Switches off the sandbox's own alarms, and shortens the delay of the panel. */
function quick(node: FlowNode): FlowNode {
  if (node.type === 'rvm-cloud') return { ...node, sandboxEvents: 0 };
  return node.type === 'delay' ? { ...node, timeout: String(PANEL) } : node;
}
