import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type NodeRed, ROOT } from '../node-red/node-red';
import { programPath } from '../suite/programs';
import { PATIENCE } from '../time/patience';
import { post } from '../webhook/alarm-message';

export async function openBrowser(): Promise<Browser> {
  const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
  const offline = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const args = [...quiet, ...offline];
  return chromium.launch({
    executablePath: programPath('chromium'),
    headless: true,
    args,
    timeout: PATIENCE,
  });
}

/** What tests use of a browser; closing it closes the pages that it has opened. */
export type TestBrowser = Pick<Browser, 'newPage' | 'close'>;

/** That of this process, if one is running. */
let kept: Browser | undefined;

async function keptBrowser(): Promise<Browser> {
  if (kept?.isConnected() === true) return kept;
  const browser = await openBrowser();
  kept = browser;
  // A process of `npm test` is told in this way that there is no further file.
  if (process.connected) process.once('disconnect', () => void browser.close());
  return browser;
}

/**
 * The browser of all test files that a process runs, for a start costs as much as the tests of many. They share nothing else:
 * each page has cookies, storage and cache of its own.
 */
export async function testBrowser(): Promise<TestBrowser> {
  const browser = await keptBrowser();
  const pages: Page[] = [];
  return {
    async newPage(options) {
      const page = await browser.newPage(options);
      pages.push(page);
      return page;
    },
    async close() {
      await Promise.all(pages.map((page) => page.close()));
      if (!process.connected) await browser.close();
    },
  };
}

interface EditorPage {
  page: Page;
  /** Errors on the console and uncaught ones, but for what the editor itself fetches from other hosts. */
  errors: string[];
}

/** Dialogs that slide in take half a second each. */
const STILL = '*, *::before, *::after { transition: none !important; animation: none !important; }';

interface EditorOptions {
  /** `httpAdminRoot`. */
  root?: string;
  /** That of a user who is logged in. */
  token?: string;
  /** Of the browser. */
  language?: string;
  width?: number;
  height?: number;
  /** Pixels of a picture for each of the page. */
  scale?: number;
}

/** Where the editor takes more than a second to load, its tips come before their place is made, which is an error. */
async function hideTips(address: string, token: string): Promise<void> {
  const login: Record<string, string> = token === '' ? {} : { Authorization: `Bearer ${token}` };
  const settings = { editor: { view: { 'view-show-tips': false } } };
  const response = await post(`${address}/settings/user`, settings, undefined, login);
  if (!response.ok) throw new Error(`The settings of the editor cannot be changed: ${response.status}.`);
}

/** The editor of a Node-RED, loaded, without its welcome tour and without motion. */
export async function openEditor(
  browser: TestBrowser,
  nodeRed: NodeRed,
  { root = '', token = '', language = 'en-US', width = 1400, height = 900, scale = 1 }: EditorOptions = {},
): Promise<EditorPage> {
  const page = await browser.newPage({
    viewport: { width, height },
    deviceScaleFactor: scale,
    locale: language,
  });
  page.setDefaultTimeout(PATIENCE);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    const isForeign = !message.location().url.startsWith(nodeRed.url);
    const isLoad = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !(isLoad && isForeign)) errors.push(message.text());
  });
  if (token !== '') {
    const login = JSON.stringify({ access_token: token, expires_in: 604_800, token_type: 'Bearer' });
    const key = `auth-tokens${root.replaceAll('/', '-')}`;
    await page.addInitScript(`localStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(login)});`);
  }
  await hideTips(nodeRed.url + root, token);
  await loadEditor(page, nodeRed, root);
  return { page, errors };
}

/** Loads the editor into a page, perhaps once more: that costs less than a page of its own. */
export async function loadEditor(page: Page, nodeRed: NodeRed, root = ''): Promise<void> {
  await page.goto(`${nodeRed.url}${root}/`);
  await page.waitForFunction(
    'window.RED && RED.nodes && RED.nodes.getType && RED.nodes.getType("rvm-webhook-in")',
  );
  await page.waitForSelector('.red-ui-workspace-tab, #red-ui-workspace-chart');
  await page.waitForSelector('#red-ui-loading-progress', { state: 'hidden' });
  await page.addStyleTag({ content: STILL });
}

/** The browser asks for another language from the next load on. */
export async function speak(page: Page, language: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const userAgent = String(await page.evaluate('navigator.userAgent'));
  await session.send('Network.setUserAgentOverride', { userAgent, acceptLanguage: language });
}

/** Runs in the page, again and again: true once the dialog has not moved between two looks, and has taken the focus. */
const TRAY_IS_OPEN = `(() => {
  const tray = $('.red-ui-tray').last()[0];
  const { left, width } = tray.getBoundingClientRect();
  const before = window.rvmTray;
  window.rvmTray = left + ' ' + width;
  return before === window.rvmTray && tray.contains(document.activeElement);
})()`;

/**
 * Opens the dialog of a node or config node and waits until it is open. The editor gives a dialog the focus last of all: a field
 * that is filled before may lose it to the first one amid the filling.
 */
export async function openDialog(page: Page, id: string): Promise<void> {
  await page.evaluate(`(() => {
    const node = RED.nodes.node(${JSON.stringify(id)});
    if (node._def.category === 'config') RED.editor.editConfig('', node.type, node.id);
    else RED.editor.edit(node);
  })()`);
  await page.waitForSelector('.red-ui-tray:last-child .red-ui-tray-body form');
  await page.waitForFunction(TRAY_IS_OPEN, undefined, { polling: 100 });
}

/** Fills a field as a person does: the editor looks at it with each key. */
export async function typeInto(page: Page, field: string, text: string): Promise<void> {
  await page.fill(field, text);
  await page.press(field, 'End');
}

/** Opens what is folded in the open dialog. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate(`$('.rvm-fold').prop('open', true)`);
}

export async function closeDialog(page: Page, button: 'ok' | 'cancel'): Promise<void> {
  const buttons = `#node-dialog-${button}, #node-config-dialog-${button}`;
  await page.locator('.red-ui-tray').last().locator(buttons).click();
  await page.waitForFunction(`$('.red-ui-tray').length === 0`);
}

interface Definition {
  defaults: Record<string, { value: unknown; type?: string; validate?(value: unknown): unknown }>;
  /** Absent where a node has none. */
  credentials?: Record<string, { type: string }>;
  /** Absent where a node is not in the palette, as is its colour. */
  paletteLabel?: unknown;
  color?: string;
  label(): string;
}

/** The definition that the built dialog of a type gives the editor. */
export function definitionOf(type: string): Definition {
  const html = fs.readFileSync(path.join(ROOT, 'dist', `${type}.html`), 'utf8');
  const script = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '';
  const registered = new Map<string, Definition>();
  const registerType = (name: string, definition: Definition) => registered.set(name, definition);
  vm.runInNewContext(script, { RED: { nodes: { registerType } } });
  const definition = registered.get(type);
  assert.ok(definition !== undefined);
  return Object.assign(definition, { _: (key: string) => `text of ${key}` });
}
