import { closeDialog, openDialog, openEditor } from '../../test/support/editor/browser';
import { webhookFlow } from '../../test/support/node-red/flows';
import { typesOfPackage, type FlowNode, type NodeRed } from '../../test/support/node-red/node-red';
import { TOLERANCE } from './picture-folder';
import { MARGIN, SCALE, type Box } from './frame';
import type { Shoot, ScreenshotBrowser } from './studio';
import { forEachTheme, inEachTheme } from './theme';

const CONFIG = ['rvm-cloud', 'rvm-central-station', 'rvm-inbox', 'rvm-listener', 'rvm-webhook-in'];

/** The dialog of each node, as it opens. */
export const DIALOGS: Shoot = { names: typesOfPackage().flatMap(namesOf), take };

function namesOf(type: string): string[] {
  return inEachTheme(`dialog-${type.replace('rvm-', '')}`);
}

async function take(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
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
