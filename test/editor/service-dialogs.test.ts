import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { chromiumPath, closeDialog, openBrowser, openDialog, openEditor } from '../support/browser';
import { cloud, station } from '../support/flows';
import { NodeRed, VERSIONS, watched, type FlowNode, type NodeRedVersion } from '../support/node-red';
import { caller } from '../support/station-flow';

function flow(): FlowNode[] {
  const node = (id: string, type: string, properties: Record<string, unknown> = {}): FlowNode =>
    caller(type, { id, wires: [[], []], ...properties });
  return watched(
    cloud(),
    station(),
    node('list', 'rvm-list-devices'),
    node('device', 'rvm-get-device'),
    node('rtsp', 'rvm-get-rtsp'),
    node('ptz', 'rvm-ptz', { target: '0' }),
    node('snapshot', 'rvm-snapshot'),
    node('request', 'rvm-request'),
  );
}

for (const version of Object.keys(VERSIONS) as NodeRedVersion[]) {
  describe(`the dialogs of nodes that call the service, in the editor of Node-RED ${version}`, function () {
    this.timeout(90_000);
    let nodeRed: NodeRed;
    let browser: Browser;
    let page: Page;
    let errors: string[];

    before(async function () {
      const chromium = chromiumPath();
      if (chromium === undefined) {
        this.skip();
      }
      nodeRed = await NodeRed.start({ version });
      await nodeRed.deploy(flow());
      browser = await openBrowser(chromium);
      ({ page, errors } = await openEditor(browser, nodeRed));
    });

    afterEach(() => assert.deepEqual(errors, []));

    after(async () => {
      await browser?.close();
      await nodeRed?.stopAndRemove();
    });

    it('of get RTSP shows camera, time and pre-roll only where the mode has a use for them', async () => {
      await openDialog(page, 'rtsp');
      const rows = ['.rvm-rtsp-camera >> nth=0', '.rvm-rtsp-time', '.rvm-rtsp-recorded'];
      for (const [mode, expected] of [
        ['recorded', [true, true, true]],
        ['live', [true, false, false]],
        ['event', [false, false, true]],
      ] as const) {
        await page.selectOption('#node-input-mode', mode);
        assert.deepEqual(await visible(rows), expected, mode);
      }
      await closeDialog(page, 'cancel');
    });

    it('of get RTSP marks a time that is missing or cannot be read, in the mode that needs one', async () => {
      const container = '.rvm-rtsp-time .red-ui-typedInput-container';
      await openDialog(page, 'rtsp');
      assert.equal(await page.locator(`${container}.input-error`).count(), 0);
      await page.selectOption('#node-input-mode', 'recorded');
      await page.waitForSelector(`${container}.input-error`);
      for (const time of ['2026-03-04T05:06:07Z', '1772600767000', '${TIME}']) {
        await page.evaluate(`$('#node-input-time').typedInput('value', ${JSON.stringify(time)})`);
        await page.waitForSelector(`${container}:not(.input-error)`);
        await page.evaluate(`$('#node-input-time').typedInput('value', 'yesterday')`);
        await page.waitForSelector(`${container}.input-error`);
      }
      await page.evaluate(`$('#node-input-time').typedInput('type', 'msg')`);
      await page.waitForSelector(`${container}:not(.input-error)`);
      await closeDialog(page, 'cancel');
    });

    it('of ptz asks for a preset or a tour, and for none on the way home', async () => {
      await openDialog(page, 'ptz');
      const target = page.locator('.rvm-ptz-target');
      const label = page.locator('#rvm-ptz-target-label');
      for (const [action, text] of [
        ['goto-preset', 'Preset'],
        ['start-tour', 'Tour'],
        ['stop-tour', 'Tour'],
      ]) {
        await page.evaluate(`$('#node-input-action').typedInput('value', ${JSON.stringify(action)})`);
        assert.ok(await target.isVisible(), action);
        assert.equal(await label.innerText(), text);
      }
      await page.evaluate(`$('#node-input-action').typedInput('value', 'goto-home')`);
      assert.equal(await target.isVisible(), false);
      await page.evaluate(`$('#node-input-action').typedInput('type', 'msg')`);
      assert.ok(await target.isVisible());
      assert.equal(await label.innerText(), 'Preset or tour');
      await closeDialog(page, 'cancel');
    });

    it('of ptz marks a missing target only where the action needs one', async () => {
      const container = '.rvm-ptz-target .red-ui-typedInput-container';
      await openDialog(page, 'ptz');
      await page.evaluate(`$('#node-input-target').typedInput('value', '')`);
      await page.waitForSelector(`${container}.input-error`);
      for (const [action, state] of [
        ['stop-tour', ':not(.input-error)'],
        ['start-tour', '.input-error'],
        ['goto-home', ':not(.input-error)'],
      ]) {
        await page.evaluate(`$('#node-input-action').typedInput('value', ${JSON.stringify(action)})`);
        await page.waitForSelector(`${container}${state}`, { state: 'attached' });
      }
      await closeDialog(page, 'cancel');
    });

    it('of api request asks for a camera, tells of msg.url and of the body only where they count', async () => {
      await openDialog(page, 'request');
      const rows = ['.rvm-request-camera >> nth=0', '.rvm-request-url', '.rvm-request-body'];
      for (const [start, method, expected] of [
        ['system', 'GET', [false, false, false]],
        ['device', 'POST', [true, false, true]],
        ['data-sources', 'DELETE', [true, false, true]],
        ['url', 'GET', [false, true, false]],
      ] as const) {
        await page.selectOption('#node-input-start', start);
        await page.selectOption('#node-input-method', method);
        assert.deepEqual(await visible(rows), expected, start);
      }
      await closeDialog(page, 'cancel');
    });

    for (const id of ['device', 'ptz', 'snapshot']) {
      it(`of ${id} takes the camera of the event, from any other place as well, and marks an empty one`, async () => {
        await openDialog(page, id);
        const camera = `$('#node-input-camera')`;
        assert.equal(await page.evaluate(`${camera}.typedInput('type')`), 'msg');
        assert.equal(await page.evaluate(`${camera}.typedInput('value')`), 'event.cameraId');
        for (const type of ['str', 'num', 'flow', 'global', 'env', 'jsonata', 'msg']) {
          await page.evaluate(`${camera}.typedInput('type', ${JSON.stringify(type)})`);
          assert.equal(await page.inputValue('#node-input-cameraType'), type);
        }
        await page.evaluate(`${camera}.typedInput('value', '')`);
        await page.waitForSelector('#node-input-camera.input-error', { state: 'attached' });
        await closeDialog(page, 'cancel');
      });
    }

    it('shows a variable in the place of a choice, and keeps it', async () => {
      await page.evaluate(`RED.nodes.node('list').show = '\${SHOW}'`);
      await openDialog(page, 'list');
      assert.equal(await page.inputValue('#node-input-show'), '${SHOW}');
      await page.fill('#node-input-name', 'renamed');
      await closeDialog(page, 'ok');
      assert.equal(await page.evaluate(`RED.nodes.node('list').show`), '${SHOW}');
      await page.evaluate(`Object.assign(RED.nodes.node('list'), { show: 'all', name: '' })`);
    });

    async function visible(selectors: readonly string[]): Promise<boolean[]> {
      return Promise.all(selectors.map((selector) => page.locator(selector).isVisible()));
    }
  });
}
