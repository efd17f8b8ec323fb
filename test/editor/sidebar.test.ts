import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { alarmMessage, post } from '../support/alarm-message';
import { chromiumPath, openBrowser, openEditor } from '../support/browser';
import { PATH, PHRASE, webhookFlow } from '../support/flows';
import { NodeRed, VERSIONS, type NodeRedVersion } from '../support/node-red';

for (const version of Object.keys(VERSIONS) as NodeRedVersion[]) {
  describe(`the sidebar "Remote monitoring" of Node-RED ${version}`, function () {
    this.timeout(90_000);
    let nodeRed: NodeRed;
    let browser: Browser;
    let page: Page;
    let errors: string[];

    before(async function () {
      const chromium = chromiumPath();
      if (chromium === undefined) this.skip();
      nodeRed = await NodeRed.start({ version });
      await nodeRed.deploy(settledFlow());
      browser = await openBrowser(chromium);
      await open();
    });

    afterEach(() => assert.deepEqual(errors.splice(0), []));

    after(async () => {
      await browser?.close();
      await nodeRed?.stopAndRemove();
    });

    /** Events have one attempt, and nothing settles them by itself. */
    function settledFlow() {
      const webhook = { handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 };
      const settle = { id: 'settle', type: 'rvm-settle', z: 'tab', x: 0, y: 0, wires: [[], []] };
      const cloud = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
      return webhookFlow({ webhook, cloud, station: { credentials: { secret: PHRASE } } }, settle);
    }

    async function open(): Promise<void> {
      ({ page, errors } = await openEditor(browser, nodeRed));
      await page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
      await page.waitForSelector('.rvm-sidebar .rvm-stations .rvm-row');
    }

    async function alarm(): Promise<Record<string, unknown>> {
      const message = alarmMessage();
      assert.equal((await post(`${nodeRed.url}${PATH}`, message, PHRASE)).status, 200);
      return message.payload as Record<string, unknown>;
    }

    it('shows the Central Stations with the state of their session', async () => {
      const row = page.locator('.rvm-stations .rvm-row');
      assert.match(await row.innerText(), /North[^]*sandbox/);
    });

    it('shows the cameras of a station, those that are not online first', async () => {
      await page.click('.rvm-stations summary');
      const cameras = page.locator('.rvm-camera');
      await cameras.nth(23).waitFor();
      assert.match(await cameras.first().innerText(), /offline/);
      assert.match(await cameras.last().innerText(), /online/);
    });

    it('shows an alarm within two seconds of its arrival', async () => {
      const { cameraName } = await alarm();
      const row = page.locator('.rvm-events .rvm-row').filter({ hasText: String(cameraName) });
      await row.first().waitFor({ timeout: 2000 });
      assert.match(await row.first().innerText(), /signed/);
      // The cameras that were open still are.
      await page.locator('.rvm-camera').nth(23).waitFor();
    });

    it('delivers a dead letter again, or lets it go', async () => {
      const row = page.locator('.rvm-dead .rvm-row').first();
      await row.waitFor({ timeout: 10_000 });
      const from = nodeRed.seen.length;
      await row.locator('[data-action="retry"]').click();
      await nodeRed.until(() => nodeRed.at('alarms', from).length > 0, 'the event once more');
      await row.waitFor({ timeout: 10_000 });
      await row.locator('[data-action="done"]').click();
      await page.waitForSelector('.rvm-dead .rvm-row', { state: 'detached' });
    });

    it('shows after a restart of Node-RED what it showed before', async () => {
      const texts = (): Promise<string[]> => page.locator('.rvm-events .rvm-row').allInnerTexts();
      const before = await texts();
      await page.close();
      const { userDir, port } = nodeRed;
      await nodeRed.stop();
      nodeRed = await NodeRed.start({ version, userDir, port });
      await open();
      await page.waitForSelector('.rvm-events .rvm-row');
      assert.deepEqual(await texts(), before);
    });

    it('raises an alarm of the sandbox', async () => {
      const count = await page.locator('.rvm-events .rvm-row').count();
      await page.click('.rvm-sandbox-alarm');
      await page.waitForFunction(`$('.rvm-events .rvm-row').length > ${count}`);
      assert.match(await page.locator('.rvm-events .rvm-row').first().innerText(), /SANDBOX/);
    });
  });
}
