import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { Sandbox } from '../../sandbox';
import { chromiumPath, closeDialog, openBrowser, openDialog, openEditor } from '../support/browser';
import { cloud, station, webhookFlow } from '../support/flows';
import { NodeRed, VERSIONS, type NodeRedVersion } from '../support/node-red';

for (const version of Object.keys(VERSIONS) as NodeRedVersion[]) {
  describe(`what dialogs try out, in the editor of Node-RED ${version}`, function () {
    this.timeout(90_000);
    let sandbox: Sandbox;
    let nodeRed: NodeRed;
    let browser: Browser;
    let page: Page;
    let errors: string[];

    before(async function () {
      const chromium = chromiumPath();
      if (chromium === undefined) this.skip();
      sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0 });
      nodeRed = await NodeRed.start({ version });
      const credentials = sandbox.setStation('north', { scheme: 'http' });
      const ofCloud = cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey } });
      await nodeRed.deploy(webhookFlow({ cloud: ofCloud, station: station({ credentials }) }));
      browser = await openBrowser(chromium);
      ({ page, errors } = await openEditor(browser, nodeRed));
    });

    afterEach(async () => {
      while ((await page.locator('.red-ui-tray').count()) > 0) await closeDialog(page, 'cancel');
      assert.deepEqual(errors.splice(0), []);
    });

    after(async () => {
      await browser?.close();
      await nodeRed?.stopAndRemove();
      await sandbox?.close();
    });

    async function outcomes(list: string): Promise<string[]> {
      return page
        .locator(`${list} li`)
        .evaluateAll((rows) => rows.map((row) => row.dataset['outcome'] ?? ''));
    }

    it('the Central Station, as it is deployed, as far as the codec of its video', async () => {
      await openDialog(page, 'station');
      await page.click('#rvm-station-test');
      await page.waitForSelector('#rvm-station-steps li >> nth=9');
      assert.deepEqual(
        await outcomes('#rvm-station-steps'),
        Array.from({ length: 10 }, () => 'ok'),
      );
      assert.match(await page.locator('#rvm-station-steps').innerText(), /H264$/);
    });

    it('the Central Station, with what was typed only now', async () => {
      await page.evaluate(`RED.nodes.node('cloud').credentials = { apiKey: ${JSON.stringify(sandbox.apiKey)} };
        RED.nodes.node('cloud').changed = true;`);
      await openDialog(page, 'station');
      await page.fill('#node-config-input-username', 'nobody');
      await page.fill('#node-config-input-password', 'wrong');
      await page.click('#rvm-station-test');
      await page.waitForSelector('#rvm-station-steps li[data-outcome="failed"]');
      const failed = await page.locator('#rvm-station-steps li[data-outcome="failed"]').innerText();
      assert.match(failed, /^Agent User logged in/);
      await page.evaluate(`RED.nodes.node('cloud').changed = false`);
    });

    it('the webhook, by a message that arrives at its node', async () => {
      await openDialog(page, 'webhook');
      await page.click('#rvm-webhook-test');
      await page.waitForSelector('#rvm-webhook-steps li >> nth=4');
      assert.deepEqual(await outcomes('#rvm-webhook-steps'), ['ok', 'ok', 'ok', 'ok', 'ok']);
    });

    it('the address of the webhook against the scheme of its Central Station', async () => {
      const warning = page.locator('#rvm-webhook-warning');
      await openDialog(page, 'webhook');
      assert.match(await warning.innerText(), /this machine only/);
      await page.fill('#node-input-publicUrl', 'https://alarms.example.com');
      assert.match(await warning.innerText(), /Set the Central Station to https/);
      await page.evaluate(`RED.nodes.node('station').scheme = 'https'`);
      await page.locator('#node-input-publicUrl').dispatchEvent('change');
      assert.equal(await warning.isVisible(), false);
      await page.fill('#node-input-publicUrl', 'http://alarms.example.com');
      assert.match(await warning.innerText(), /in the clear/);
      await page.evaluate(`RED.nodes.node('station').scheme = 'http'`);
    });

    it('the phrase, for what nobody can see in it', async () => {
      await openDialog(page, 'station');
      const tip = page.locator('#rvm-secret-tip');
      assert.equal(await tip.isVisible(), false);
      await page.fill('#node-config-input-secret', 'it\u2019s short ');
      assert.match(await tip.innerText(), /white space[^]*typographic[^]*short/);
      await page.fill('#node-config-input-secret', 'correct horse battery staple');
      assert.equal(await tip.isVisible(), false);
    });
  });
}
