import assert from 'node:assert/strict';
import { Sandbox } from '../../../sandbox';
import { closeDialog, openDialog } from '../../support/editor/browser';
import { cloud, station } from '../../support/node-red/flows';
import { describeInEditor } from '../../support/editor/in-editor';
import { watched, type FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

const PICK = '.rvm-pick >> nth=0';
const ITEMS = '.rvm-picker:not([hidden]) .rvm-picker-item';

let sandbox: Sandbox;

async function flow(): Promise<FlowNode[]> {
  sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0 });
  const credentials = sandbox.setStation('north', { scheme: 'http' });
  return watched(
    cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey } }),
    station({ credentials }),
    caller('rvm-get-device', { id: 'device', wires: [[], []] }),
    caller('rvm-ptz', { id: 'ptz', wires: [[], []] }),
  );
}

describeInEditor('the lists to pick from', { flow, end: () => sandbox.close() }, (editor) => {
  async function cameraThatMoves(): Promise<string> {
    const response = await fetch(`${sandbox.url}/sandbox/state`);
    const { cameras } = (await response.json()) as { cameras: { id: string; ptz: unknown }[] };
    return cameras.find(({ ptz }) => ptz !== null)?.id ?? '';
  }

  async function openPicker(): Promise<void> {
    await editor.page.click(PICK);
    await editor.page.waitForSelector(ITEMS);
  }

  it('show the cameras by site, each with state, name and id', async () => {
    await openDialog(editor.page, 'device');
    await openPicker();
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
    assert.equal(await editor.page.locator('.rvm-picker-group').count(), 3);
    assert.ok((await editor.page.locator(`${ITEMS} .rvm-good`).count()) > 0);
    assert.match(await editor.page.locator(`${ITEMS} code`).first().innerText(), /^[0-9a-f-]{36}$/);
  });

  it('find a camera by a part of its name, and put its id into the field', async () => {
    await openDialog(editor.page, 'device');
    await openPicker();
    const name = await editor.page.locator(`${ITEMS} .rvm-picker-name`).nth(5).innerText();
    const id = await editor.page.locator(`${ITEMS} code`).nth(5).innerText();
    await editor.page.fill('.rvm-picker-search', name.slice(0, -1).toUpperCase());
    await editor.page.fill('.rvm-picker-search', name.toUpperCase());
    await editor.page.locator(ITEMS).filter({ hasText: id }).click();
    assert.equal(await editor.page.evaluate(`$('#node-input-camera').typedInput('type')`), 'str');
    assert.equal(await editor.page.evaluate(`$('#node-input-camera').typedInput('value')`), id);
    assert.equal(await editor.page.locator('.rvm-picker').first().isVisible(), false);
    await closeDialog(editor.page, 'ok');
    assert.equal(await editor.page.evaluate(`RED.nodes.node('device').camera`), id);
    assert.equal(await editor.page.evaluate(`RED.nodes.node('device').cameraType`), 'str');
  });

  it('pick nothing by the Enter that ends what an input method composes', async () => {
    await openDialog(editor.page, 'device');
    await editor.page.evaluate(`$('#node-input-camera').typedInput('value', 'as it was')`);
    await openPicker();
    const name = await editor.page.locator(`${ITEMS} .rvm-picker-name`).first().innerText();
    await editor.page.focus('.rvm-picker-search');
    const keyboard = await editor.page.context().newCDPSession(editor.page);
    await keyboard.send('Input.imeSetComposition', { text: name, selectionStart: 1, selectionEnd: 1 });
    await editor.page.keyboard.press('Enter');
    assert.equal(await editor.page.evaluate(`$('#node-input-camera').typedInput('value')`), 'as it was');
    await keyboard.send('Input.insertText', { text: name });
    await editor.page.keyboard.press('Enter');
    const picked = String(await editor.page.evaluate(`$('#node-input-camera').typedInput('value')`));
    assert.match(picked, /^[0-9a-f-]{36}$/);
    await keyboard.detach();
  });

  it('choose the only Central Station with its camera, where none was chosen', async () => {
    await editor.page.evaluate(`RED.nodes.node('device').station = ''`);
    await openDialog(editor.page, 'device');
    await openPicker();
    await editor.page.locator(ITEMS).first().click();
    await closeDialog(editor.page, 'ok');
    assert.equal(await editor.page.evaluate(`RED.nodes.node('device').station`), 'station');
  });

  it('leave a variable or a place in the message as they are', async () => {
    for (const [type, value] of [
      ['env', 'CAMERA'],
      ['str', '${CAMERA}'],
      ['msg', 'event.cameraId'],
    ]) {
      await editor.page.evaluate(
        `Object.assign(RED.nodes.node('device'), ${JSON.stringify({ camera: value, cameraType: type })})`,
      );
      await openDialog(editor.page, 'device');
      await openPicker();
      await closeDialog(editor.page, 'ok');
      assert.equal(await editor.page.evaluate(`RED.nodes.node('device').camera`), value);
      assert.equal(await editor.page.evaluate(`RED.nodes.node('device').cameraType`), type);
    }
  });

  it('offer the presets of the chosen camera, or its tours', async () => {
    await openDialog(editor.page, 'ptz');
    await openPicker();
    await editor.page.fill('.rvm-picker-search >> nth=0', await cameraThatMoves());
    await editor.page.locator(ITEMS).first().click();
    await editor.page.locator('.rvm-ptz-target .rvm-pick').click();
    await editor.page.waitForSelector(ITEMS);
    const preset = await editor.page.locator(`${ITEMS} .rvm-picker-name`).first().innerText();
    await editor.page.evaluate(`$('#node-input-action').typedInput('value', 'start-tour').trigger('change')`);
    await editor.page.waitForFunction(
      `$(${JSON.stringify(`${ITEMS} .rvm-picker-name`)}).length > 0
         && $(${JSON.stringify(`${ITEMS} .rvm-picker-name`)}).first().text() !== ${JSON.stringify(preset)}`,
    );
    await editor.page.locator(ITEMS).first().click();
    assert.notEqual(await editor.page.evaluate(`$('#node-input-target').typedInput('value')`), '');
  });

  it('say that presets need a fixed camera', async () => {
    await openDialog(editor.page, 'ptz');
    await editor.page.locator('.rvm-ptz-target .rvm-pick').click();
    await editor.page.waitForSelector('.rvm-picker:not([hidden]) .rvm-picker-fault');
  });

  it('show the cameras of a sandbox before anything of it was deployed', async () => {
    await editor.page.evaluate(`(() => {
        const add = (node) => RED.nodes.import([node], { generateIds: false, markChanged: true });
        add({ id: 'new-cloud', type: 'rvm-cloud', name: '', url: 'sandbox', configVersion: 1 });
        add({ id: 'new-station', type: 'rvm-central-station', name: 'New', key: 'new', cloud: 'new-cloud' });
        RED.nodes.node('device').station = 'new-station';
      })()`);
    await openDialog(editor.page, 'device');
    await openPicker();
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
    await closeDialog(editor.page, 'cancel');
    await editor.page.evaluate(`(() => {
        RED.nodes.node('device').station = 'station';
        RED.nodes.remove('new-station');
        RED.nodes.remove('new-cloud');
      })()`);
  });

  it('show the last cameras known, and since when, where the service is gone', async () => {
    await sandbox.close();
    await openDialog(editor.page, 'device');
    await openPicker();
    await editor.page.click('.rvm-picker-refresh');
    await editor.page.waitForFunction(`/^As of /.test($('.rvm-picker-note').first().text())`);
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
    editor.errors.splice(0); // The browser reports the answer that is no success.
  });
});

const ownSandbox = () =>
  watched(
    cloud({ url: 'sandbox', sandboxEvents: 0, credentials: {} }),
    station({ credentials: {} }),
    caller('rvm-get-device', { id: 'device', wires: [[], []] }),
  );

describeInEditor(
  'the lists to pick from, with users and another root',
  { flow: ownSandbox, secured: true },
  (editor) => {
    it('are filled as well', async () => {
      await openDialog(editor.page, 'device');
      await editor.page.click(PICK);
      await editor.page.waitForSelector(ITEMS);
      assert.equal(await editor.page.locator(ITEMS).count(), 24);
    });
  },
);
