import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { Sandbox } from '../../sandbox';
import { chromiumPath, closeDialog, openBrowser, openDialog, openEditor } from '../support/browser';
import { tokenOf, TWO_USERS } from '../support/editor-questions';
import { cloud, station } from '../support/flows';
import { NodeRed, VERSIONS, watched, type FlowNode, type NodeRedVersion } from '../support/node-red';
import { caller } from '../support/station-flow';

const PICK = '.rvm-pick >> nth=0';
const ITEMS = '.rvm-picker:not([hidden]) .rvm-picker-item';

for (const version of Object.keys(VERSIONS) as NodeRedVersion[]) {
  describe(`the lists to pick from, in the editor of Node-RED ${version}`, function () {
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
      await nodeRed.deploy(flow());
      browser = await openBrowser(chromium);
      ({ page, errors } = await openEditor(browser, nodeRed));
    });

    afterEach(async () => {
      if ((await page.locator('.red-ui-tray').count()) > 0) await closeDialog(page, 'cancel');
      assert.deepEqual(errors.splice(0), []);
    });

    after(async () => {
      await browser?.close();
      await nodeRed?.stopAndRemove();
      await sandbox?.close();
    });

    function flow(): FlowNode[] {
      const credentials = sandbox.setStation('north', { scheme: 'http' });
      return watched(
        cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey } }),
        station({ credentials }),
        caller('rvm-get-device', { id: 'device', wires: [[], []] }),
        caller('rvm-ptz', { id: 'ptz', wires: [[], []] }),
      );
    }

    async function cameraThatMoves(): Promise<string> {
      const response = await fetch(`${sandbox.url}/sandbox/state`);
      const { cameras } = (await response.json()) as { cameras: { id: string; ptz: unknown }[] };
      return cameras.find(({ ptz }) => ptz !== null)?.id ?? '';
    }

    async function openPicker(): Promise<void> {
      await page.click(PICK);
      await page.waitForSelector(ITEMS);
    }

    it('show the cameras by site, each with state, name and id', async () => {
      await openDialog(page, 'device');
      await openPicker();
      assert.equal(await page.locator(ITEMS).count(), 24);
      assert.equal(await page.locator('.rvm-picker-group').count(), 3);
      assert.ok((await page.locator(`${ITEMS} .rvm-good`).count()) > 0);
      assert.match(await page.locator(`${ITEMS} code`).first().innerText(), /^[0-9a-f-]{36}$/);
    });

    it('find a camera by a part of its name, and put its id into the field', async () => {
      await openDialog(page, 'device');
      await openPicker();
      const name = await page.locator(`${ITEMS} .rvm-picker-name`).nth(5).innerText();
      const id = await page.locator(`${ITEMS} code`).nth(5).innerText();
      await page.fill('.rvm-picker-search', name.slice(0, -1).toUpperCase());
      await page.fill('.rvm-picker-search', name.toUpperCase());
      await page.locator(ITEMS).filter({ hasText: id }).click();
      assert.equal(await page.evaluate(`$('#node-input-camera').typedInput('type')`), 'str');
      assert.equal(await page.evaluate(`$('#node-input-camera').typedInput('value')`), id);
      assert.equal(await page.locator('.rvm-picker').first().isVisible(), false);
      await closeDialog(page, 'ok');
      assert.equal(await page.evaluate(`RED.nodes.node('device').camera`), id);
      assert.equal(await page.evaluate(`RED.nodes.node('device').cameraType`), 'str');
    });

    it('leave a variable or a place in the message as they are', async () => {
      for (const [type, value] of [
        ['env', 'CAMERA'],
        ['str', '${CAMERA}'],
        ['msg', 'event.cameraId'],
      ]) {
        await page.evaluate(
          `Object.assign(RED.nodes.node('device'), ${JSON.stringify({ camera: value, cameraType: type })})`,
        );
        await openDialog(page, 'device');
        await openPicker();
        await closeDialog(page, 'ok');
        assert.equal(await page.evaluate(`RED.nodes.node('device').camera`), value);
        assert.equal(await page.evaluate(`RED.nodes.node('device').cameraType`), type);
      }
    });

    it('offer the presets of the chosen camera, or its tours', async () => {
      await openDialog(page, 'ptz');
      await openPicker();
      await page.fill('.rvm-picker-search >> nth=0', await cameraThatMoves());
      await page.locator(ITEMS).first().click();
      await page.locator('.rvm-ptz-target .rvm-pick').click();
      await page.waitForSelector(ITEMS);
      const preset = await page.locator(`${ITEMS} .rvm-picker-name`).first().innerText();
      await page.evaluate(`$('#node-input-action').typedInput('value', 'start-tour').trigger('change')`);
      await page.waitForFunction(
        `$(${JSON.stringify(`${ITEMS} .rvm-picker-name`)}).length > 0
         && $(${JSON.stringify(`${ITEMS} .rvm-picker-name`)}).first().text() !== ${JSON.stringify(preset)}`,
      );
      await page.locator(ITEMS).first().click();
      assert.notEqual(await page.evaluate(`$('#node-input-target').typedInput('value')`), '');
    });

    it('say that presets need a fixed camera', async () => {
      await openDialog(page, 'ptz');
      await page.locator('.rvm-ptz-target .rvm-pick').click();
      await page.waitForSelector('.rvm-picker:not([hidden]) .rvm-picker-fault');
    });

    it('show the cameras of a sandbox before anything of it was deployed', async () => {
      await page.evaluate(`(() => {
        const add = (node) => RED.nodes.import([node], { generateIds: false, markChanged: true });
        add({ id: 'new-cloud', type: 'rvm-cloud', name: '', url: 'sandbox', configVersion: 1 });
        add({ id: 'new-station', type: 'rvm-central-station', name: 'New', key: 'new', cloud: 'new-cloud' });
        RED.nodes.node('device').station = 'new-station';
      })()`);
      await openDialog(page, 'device');
      await openPicker();
      assert.equal(await page.locator(ITEMS).count(), 24);
      await closeDialog(page, 'cancel');
      await page.evaluate(`(() => {
        RED.nodes.node('device').station = 'station';
        RED.nodes.remove('new-station');
        RED.nodes.remove('new-cloud');
      })()`);
    });

    it('show the last cameras known, and since when, where the service is gone', async () => {
      await sandbox.close();
      await openDialog(page, 'device');
      await openPicker();
      await page.click('.rvm-picker-refresh');
      await page.waitForFunction(`/^As of /.test($('.rvm-picker-note').first().text())`, undefined, {
        timeout: 60_000,
      });
      assert.equal(await page.locator(ITEMS).count(), 24);
      errors.splice(0); // The browser reports the answer that is no success.
    });
  });
}

describe('the lists to pick from, where Node-RED has users and another root', function () {
  this.timeout(90_000);

  it('are filled as well', async function () {
    const chromium = chromiumPath();
    if (chromium === undefined) this.skip();
    const nodeRed = await NodeRed.start({ settings: `${TWO_USERS} httpAdminRoot: '/admin',` });
    const token = await tokenOf(nodeRed, 'admin', '/admin');
    await nodeRed.deploy(
      watched(
        cloud({ url: 'sandbox', sandboxEvents: 0, credentials: {} }),
        station({ credentials: {} }),
        caller('rvm-get-device', { id: 'device', wires: [[], []] }),
      ),
      'full',
      '/admin',
      token,
    );
    const browser = await openBrowser(chromium);
    const { page, errors } = await openEditor(browser, nodeRed, '/admin', token);
    await openDialog(page, 'device');
    await page.click(PICK);
    await page.waitForSelector(ITEMS);
    assert.equal(await page.locator(ITEMS).count(), 24);
    assert.deepEqual(errors, []);
    await browser.close();
    await nodeRed.stopAndRemove();
  });
});
