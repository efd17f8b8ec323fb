import { openEditor } from '../../test/support/editor/browser';
import { PATH, PHRASE, webhookFlow } from '../../test/support/node-red/flows';
import type { FlowNode, NodeRed } from '../../test/support/node-red/node-red';
import { alarmMessage, post } from '../../test/support/webhook/alarm-message';
import { timeInDaylight } from './daylight';
import { TOLERANCE } from './picture-folder';
import { raiseAlarm } from './sandbox-alarm';
import { MARGIN, SCALE, type Box } from './frame';
import type { Shoot, ScreenshotBrowser } from './studio';
import { forEachTheme, inEachTheme } from './theme';

/** The sidebar with an alarm and its picture, a conflict, and a message without a valid proof. */
export const SIDEBAR: Shoot = { names: inEachTheme('sidebar'), take };

async function take(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
  await nodeRed.deploy(flow());
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

function flow(): FlowNode[] {
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
