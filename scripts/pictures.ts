/**
 * Renders the pictures of README and docs/ from what they show: `npm run pictures`. Needs Chromium. Replaces those alone
 * that show something else; one that was removed is rendered in any case.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { boardIsFull, inDark, openBoard } from '../test/support/editor/alarm-board';
import { alarmMessage, post } from '../test/support/webhook/alarm-message';
import {
  chromiumPath,
  closeDialog,
  openBrowser,
  openDialog,
  openEditor,
} from '../test/support/editor/browser';
import { example, EXAMPLES, packagesFor } from '../test/support/examples/examples';
import { PATH, PHRASE, webhookFlow } from '../test/support/node-red/flows';
import { NodeRed, typesOfPackage, type FlowNode } from '../test/support/node-red/node-red';
import { buildIfStale, ROOT } from './build';
import { PictureFolder, TOLERANCE } from './picture-folder';

const IMAGES = path.join(ROOT, 'docs', 'images');
const THEMES = ['light', 'dark'] as const;
const MARGIN = 20;
/** Pixels of a picture for each of the page. */
const SCALE = 1.5;

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
  try {
    await renderAll(browser);
  } finally {
    await browser.close();
  }
}

async function renderAll(browser: Browser): Promise<void> {
  const pictures = new PictureFolder(IMAGES, await browser.newPage());
  await withNodeRed([], (nodeRed) => picturesOfDialogs(browser, nodeRed, pictures));
  await withNodeRed([], (nodeRed) => picturesOfSidebar(browser, nodeRed, pictures));
  for (const theme of THEMES)
    await withNodeRed(packagesFor('10'), (nodeRed) => pictureOfTheBoard(browser, nodeRed, theme, pictures));
  for (const file of EXAMPLES)
    await withNodeRed(packagesFor(file), (nodeRed) => pictureOfExample(browser, nodeRed, file, pictures));
  const { changed, kept } = pictures.outcomes;
  console.log(`${pictures.outcomes.new} new, ${changed} changed, ${kept} left as they were`);
}

async function withNodeRed(
  palette: readonly string[],
  work: (nodeRed: NodeRed) => Promise<void>,
): Promise<void> {
  const nodeRed = await NodeRed.start({ palette });
  try {
    await work(nodeRed);
  } finally {
    await nodeRed.stopAndRemove();
  }
}

/** Says which picture is another one now. */
async function save(pictures: PictureFolder, name: string, png: Buffer, tolerance: number): Promise<void> {
  const outcome = await pictures.take(name, png, tolerance);
  if (outcome !== 'kept') console.log(`${outcome}: docs/images/${name}`);
}

async function inEachTheme(page: Page, work: (theme: string) => Promise<void>): Promise<void> {
  for (const theme of THEMES) {
    await page.evaluate(`document.documentElement.classList.toggle('nr-theme-dark', ${theme === 'dark'})`);
    await work(theme);
  }
}

/** One node of each type, at the sandbox. */
function flowOfAllTypes(): FlowNode[] {
  const config = ['rvm-cloud', 'rvm-central-station', 'rvm-inbox', 'rvm-listener', 'rvm-webhook-in'];
  const others = typesOfPackage().filter((type) => !config.includes(type));
  return webhookFlow(
    {
      cloud: { url: 'sandbox', sandboxEvents: 0, credentials: {} },
      webhook: { publicUrl: 'https://alarms.example.com' },
      station: { scheme: 'https' },
    },
    { id: 'inbox', type: 'rvm-inbox', name: '', folder: '', spillFolder: '', keyDays: 7, bodyDays: 30 },
    { id: 'listener', type: 'rvm-listener', name: '', port: '8443', host: '', tls: '', proxies: '' },
    ...others.map((type, index) => nodeOf(type, type, index)),
  );
}

function nodeOf(id: string, type: string, index: number): FlowNode {
  const inputs = { station: 'station', target: '0' };
  return { id, type, z: 'tab', ...inputs, x: 300, y: 100 + 60 * index, wires: [[], []] };
}

async function picturesOfDialogs(browser: Browser, nodeRed: NodeRed, pictures: PictureFolder): Promise<void> {
  const flow = flowOfAllTypes();
  await nodeRed.deploy(flow);
  const { page } = await openEditor(browser, nodeRed, { height: 1600, scale: SCALE });
  for (const type of typesOfPackage()) {
    const id = flow.find((node) => node.type === type)?.id ?? '';
    await openDialog(page, id);
    await inEachTheme(page, async (theme) => {
      const clip = await page.evaluate<Box>(BOX_OF_DIALOG);
      const name = `dialog-${type.replace('rvm-', '')}-${theme}.png`;
      await save(pictures, name, await page.screenshot({ clip }), TOLERANCE.still);
    });
    await closeDialog(page, 'cancel');
  }
  await page.close();
}

/** With an alarm and its picture, a conflict, and a message that nothing proved. */
async function picturesOfSidebar(browser: Browser, nodeRed: NodeRed, pictures: PictureFolder): Promise<void> {
  const wires = [['alarms', 'snapshot'], ['health'], ['problems']];
  const cloud = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
  const station = { credentials: { secret: PHRASE } };
  await nodeRed.deploy(
    webhookFlow({ webhook: { wires }, cloud, station }, nodeOf('snapshot', 'rvm-snapshot', 0)),
  );
  const { page } = await openEditor(browser, nodeRed, { height: 1900, scale: SCALE });
  const message = alarmMessage();
  const other = { ...message, payload: { ...(message.payload as object), cameraName: 'Gate 2' } };
  for (const each of [message, other]) await post(`${nodeRed.url}${PATH}`, each, PHRASE);
  await post(`${nodeRed.url}${PATH}`, alarmMessage(), 'another phrase');
  await page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
  await page.click('.rvm-sandbox-alarm');
  await page.evaluate('document.activeElement.blur()');
  await page.waitForFunction(`$('.rvm-thumbnail').length > 0 && $('.rvm-thumbnail')[0].naturalWidth > 0`);
  await page.waitForSelector('.rvm-quarantine .rvm-row');
  await page.waitForSelector('.red-ui-notification', { state: 'detached' });
  // In its place it shares its height with other tabs, and one has to scroll.
  await page.addStyleTag({ content: WHOLE_SIDEBAR });
  await page.evaluate(`$('.rvm-sidebar').appendTo(document.body)`);
  await inEachTheme(page, async (theme) => {
    const clip = await page.evaluate<Box>(BOX_OF_SIDEBAR);
    await save(pictures, `sidebar-${theme}.png`, await page.screenshot({ clip }), TOLERANCE.alarms);
  });
  await page.close();
}

/** The board of example 10, whose theme is a part of its flow. */
async function pictureOfTheBoard(
  browser: Browser,
  nodeRed: NodeRed,
  theme: string,
  pictures: PictureFolder,
): Promise<void> {
  const flow = example('10');
  await nodeRed.deploy(theme === 'dark' ? inDark(flow) : flow);
  const page = await openBoard(browser, nodeRed);
  await boardIsFull(page);
  await save(pictures, `board-${theme}.png`, await page.screenshot(), TOLERANCE.alarms);
  await page.close();
}

/** With an alarm in where one comes, so that the picture shows the statuses of a running flow. */
async function pictureOfExample(
  browser: Browser,
  nodeRed: NodeRed,
  file: string,
  pictures: PictureFolder,
): Promise<void> {
  const flow = example(file);
  await nodeRed.deploy(flow);
  const { page } = await openEditor(browser, nodeRed, { width: 2600, height: 1400, scale: SCALE });
  if (flow.some(({ type, sandboxEvents }) => type === 'rvm-cloud' && Number(sandboxEvents) > 0))
    await page.waitForFunction(`$('.red-ui-flow-node-status-label').text().includes('last ')`, undefined, {
      timeout: 30_000,
    });
  const name = file
    .replace('.json', '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .toLowerCase();
  const clip = await page.evaluate<Box>(BOX_OF_FLOW);
  await save(pictures, `${name}.png`, await page.screenshot({ clip }), TOLERANCE.statuses);
  await page.close();
}

/** Runs in the page: the dialog as far down as its form goes. */
const BOX_OF_DIALOG = `(() => {
  const tray = document.querySelector('.red-ui-tray:last-child').getBoundingClientRect();
  const form = document.querySelector('.red-ui-tray:last-child .red-ui-tray-body form');
  const bottom = Math.max(...[...form.querySelectorAll('*')].map((part) => part.getBoundingClientRect().bottom));
  return { x: tray.left, y: tray.top, width: tray.width, height: bottom + ${MARGIN} - tray.top };
})()`;

const WHOLE_SIDEBAR = `body > .rvm-sidebar { position: fixed; z-index: 1000; inset: 0 auto auto 0; width: 340px; height: auto;
  background: var(--red-ui-secondary-background); }`;

/** Runs in the page: the sidebar as far down as it has something to show. */
const BOX_OF_SIDEBAR = `(() => {
  const box = document.querySelector('.rvm-sidebar').getBoundingClientRect();
  const last = document.querySelector('.rvm-sidebar').lastElementChild.getBoundingClientRect();
  return { x: box.left, y: box.top, width: box.width, height: Math.min(box.bottom, last.bottom + ${MARGIN}) - box.top };
})()`;

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
