import type { Page } from 'playwright-core';
import { inDark, lineOf, openBoard, pictureIs } from '../../test/support/editor/alarm-board';
import { closeDialog, openDialog, openEditor } from '../../test/support/editor/browser';
import { example, EXAMPLES, packagesFor } from '../../test/support/examples/examples';
import { PATH, PHRASE, webhookFlow } from '../../test/support/node-red/flows';
import { type FlowNode, type NodeRed, probe, typesOfPackage } from '../../test/support/node-red/node-red';
import { eventually, PATIENCE } from '../../test/support/time/patience';
import { alarmMessage, post } from '../../test/support/webhook/alarm-message';
import {
  type Box,
  DAYLIGHT,
  FENCE,
  forEachTheme,
  inEachTheme,
  MARGIN,
  raiseAlarm,
  type SandboxAlarm,
  SCALE,
  type ScreenshotBrowser,
  type Shoot,
  type Theme,
  THEMES,
  timeInDaylight,
  TOLERANCE,
} from './studio';

/** In order of arrival. */
const BOARD_ALARMS: readonly SandboxAlarm[] = [
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
  for (const alarm of BOARD_ALARMS) {
    await raiseAlarm(nodeRed, alarm);
    await lineOf(page, alarm.eventName).waitFor();
  }
  await lineOf(page, BOARD_ALARMS[1]?.eventName ?? '').click();
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

const CONFIG = ['rvm-cloud', 'rvm-central-station', 'rvm-inbox', 'rvm-listener', 'rvm-webhook-in'];

/** The dialog of each node, as it opens. */
export const DIALOGS: Shoot = { names: typesOfPackage().flatMap(namesOf), take: takeDialogs };

function namesOf(type: string): string[] {
  return inEachTheme(`dialog-${type.replace('rvm-', '')}`);
}

async function takeDialogs(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
  const flow = flowOfAllTypes();
  await nodeRed.deploy(flow);
  const { page } = await openEditor(studio.browser, nodeRed, { height: 1600, scale: SCALE });
  for (const type of typesOfPackage().filter((each) => namesOf(each).some((name) => studio.wants(name)))) {
    await openDialog(page, flow.find((node) => node.type === type)?.id ?? '');
    await forEachTheme(page, async (theme) => {
      const clip = await page.evaluate<Box>(BOX_OF_DIALOG);
      const name = `dialog-${type.replace('rvm-', '')}-${theme}.png`;
      await studio.take(name, await page.screenshot({ clip }), TOLERANCE.still);
    });
    await closeDialog(page, 'cancel');
  }
  await page.close();
}

/** One node of each type, connected to the sandbox. */
function flowOfAllTypes(): FlowNode[] {
  const others = typesOfPackage().filter((type) => !CONFIG.includes(type));
  return webhookFlow(
    {
      cloud: { url: 'sandbox', sandboxEvents: 0, credentials: {} },
      webhook: { publicUrl: 'https://alarms.example.com' },
      station: { scheme: 'https' },
    },
    { id: 'inbox', type: 'rvm-inbox', name: '', folder: '', spillFolder: '', keyDays: 7, bodyDays: 30 },
    { id: 'listener', type: 'rvm-listener', name: '', port: '8443', host: '', tls: '', proxies: '' },
    ...others.map((type, index) => nodeOf(type, index)),
  );
}

function nodeOf(type: string, index: number): FlowNode {
  const inputs = { station: 'station', target: '0' };
  return { id: type, type, z: 'tab', ...inputs, x: 300, y: 100 + 60 * index, wires: [[], []] };
}

/** Runs in the page: the rectangle of the dialog down to the end of its form. */
const BOX_OF_DIALOG = `(() => {
  const tray = document.querySelector('.red-ui-tray:last-child').getBoundingClientRect();
  const form = document.querySelector('.red-ui-tray:last-child .red-ui-tray-body form');
  const bottom = Math.max(...[...form.querySelectorAll('*')].map((part) => part.getBoundingClientRect().bottom));
  return { x: tray.left, y: tray.top, width: tray.width, height: bottom + ${MARGIN} - tray.top };
})()`;

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

/** The sidebar with an alarm and its picture, a conflict, and a message without a valid proof. */
export const SIDEBAR: Shoot = { names: inEachTheme('sidebar'), take: takeSidebar };

async function takeSidebar(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
  await nodeRed.deploy(flowOfSidebar());
  const { page } = await openEditor(studio.browser, nodeRed, { height: 1900, scale: SCALE });
  const message = messageNow();
  const other = { ...message, payload: { ...(message.payload as object), cameraName: 'Gate 2' } };
  for (const each of [message, other]) await post(`${nodeRed.url}${PATH}`, each, PHRASE);
  await post(`${nodeRed.url}${PATH}`, messageNow(), 'another phrase');
  await page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
  await raiseAlarm(nodeRed);
  await page.evaluate('document.activeElement.blur()');
  await page.waitForFunction(`$('.rvm-thumbnail').length > 0 && $('.rvm-thumbnail')[0].naturalWidth > 0`);
  await page.waitForSelector('.rvm-quarantine .rvm-row');
  // Moved to the body: in the editor the sidebar shares its height with other tabs and scrolls.
  await page.addStyleTag({ content: WHOLE_SIDEBAR });
  await page.evaluate(`$('.rvm-sidebar').appendTo(document.body)`);
  await forEachTheme(page, async (theme) => {
    const clip = await page.evaluate<Box>(BOX_OF_SIDEBAR);
    await studio.take(`sidebar-${theme}.png`, await page.screenshot({ clip }), TOLERANCE.alarms);
  });
  await page.close();
}

function messageNow(): Record<string, unknown> {
  const time = timeInDaylight();
  return alarmMessage({ eventStartTime: time.replace('Z', '') }, { transmitTime: time });
}

function flowOfSidebar(): FlowNode[] {
  const wires = [['alarms', 'picture'], ['health'], ['problems']];
  const cloud = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
  const picture = { id: 'picture', type: 'rvm-get-picture', z: 'tab', x: 300, y: 100, wires: [[], []] };
  return webhookFlow({ webhook: { wires }, cloud, station: { credentials: { secret: PHRASE } } }, picture);
}

const WHOLE_SIDEBAR = `body > .rvm-sidebar { position: fixed; z-index: 1000; inset: 0 auto auto 0; width: 340px; height: auto;
  background: var(--red-ui-secondary-background); }`;

/** Runs in the page: the rectangle of the sidebar down to the end of its content. */
const BOX_OF_SIDEBAR = `(() => {
  const box = document.querySelector('.rvm-sidebar').getBoundingClientRect();
  const last = document.querySelector('.rvm-sidebar').lastElementChild.getBoundingClientRect();
  return { x: box.left, y: box.top, width: box.width, height: Math.min(box.bottom, last.bottom + ${MARGIN}) - box.top };
})()`;

/** In order of arrival; some have the verdict of a person. */
const STATISTICS_ALARMS: readonly (SandboxAlarm & { verdict?: 'real' | 'false alarm' })[] = [
  { camera: 'SANDBOX Yard 1', eventName: 'Cat in the yard', verdict: 'false alarm' },
  { camera: 'SANDBOX Gate 1', eventName: 'Vehicle at the gate' },
  { camera: 'SANDBOX Yard 1', eventName: 'Person in the yard', verdict: 'real' },
  { camera: 'SANDBOX Loading Bay 2', eventName: 'Loitering' },
  { ...FENCE, verdict: 'real' },
];
/** Delay of the panel in seconds. */
const PANEL = 5;

/** The statistics board of example 18, with alarms of one hour. */
export const STATISTICS: Shoot = {
  names: ['statistics.png'],
  palette: packagesFor('18'),
  take: takeStatistics,
};

async function takeStatistics(nodeRed: NodeRed, studio: Parameters<Shoot['take']>[1]): Promise<void> {
  await nodeRed.deploy(example('18').map(quick));
  for (const { camera, eventName } of STATISTICS_ALARMS) await raiseAlarm(nodeRed, { camera, eventName });
  const page = await studio.browser.newPage({
    viewport: { width: 1366, height: 860 },
    deviceScaleFactor: SCALE,
  });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${nodeRed.url}/dashboard/statistics`);
  for (const alarm of STATISTICS_ALARMS) await judge(page, alarm);
  // Until all are settled and no animation runs.
  await page.waitForTimeout((PANEL + 10) * 1000);
  await page.mouse.move(0, 0);
  await studio.take('statistics.png', await page.screenshot(), TOLERANCE.alarms);
  await page.close();
}

async function judge(page: Page, { eventName, verdict }: (typeof STATISTICS_ALARMS)[number]): Promise<void> {
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

const NAME = 'view-light.png';
/** Second of the clip, which begins five seconds before the alarm: the intruder is halfway up. */
const SHOWN_SECOND = 8;
const VIDEO = `[...document.querySelectorAll('video')].find((video) => !video.hidden)`;

/** The page of *view link*, in the middle of the alarm. */
export const VIEW_PAGE: Shoot = { names: [NAME], take: takeViewPage };

async function takeViewPage(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
  await nodeRed.deploy(flowOfViewPage());
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
  // Brings back the controls.
  await page.hover('video:visible');
  await studio.take(NAME, await page.screenshot(), TOLERANCE.video);
  await page.close();
}

/** Waits without waitForFunction, which the content security policy of the page forbids. */
async function playTo(page: Page, second: number): Promise<void> {
  const isThere = `${VIDEO}?.currentTime >= ${second}`;
  await eventually(async () => (await page.evaluate(isThere)) === true, `second ${second} of the clip`);
}

function flowOfViewPage(): FlowNode[] {
  const wires = [['view'], [], []];
  const cloud = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
  const view = { id: 'view', type: 'rvm-view', z: 'tab', x: 300, y: 100, live: true, wires: [['link'], []] };
  return webhookFlow({ webhook: { wires }, cloud, station: { credentials: {} } }, view, probe('link'));
}
