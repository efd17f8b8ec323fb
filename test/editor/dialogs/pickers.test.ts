import assert from 'node:assert/strict';
import { closeDialog } from '../../support/editor/browser';
import { cloud, station } from '../../support/node-red/flows';
import { describeInEditor, withSandbox } from '../../support/editor/in-editor';
import { watched } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

const PICK = '.rvm-pick >> nth=0';
const ITEMS = '.rvm-picker:not([hidden]) .rvm-picker-item';
const NAMES = `${ITEMS} .rvm-picker-name`;
const DEVICE = caller('rvm-get-device', { id: 'device', wires: [[], []] });

const sandbox = withSandbox({}, DEVICE, caller('rvm-ptz', { id: 'ptz', wires: [[], []] }));

describeInEditor('the lists to pick from', sandbox, (editor) => {
  const { assign } = editor;
  const camera = (what: 'type' | 'value'): Promise<unknown> =>
    editor.page.evaluate(`$('#node-input-camera').typedInput('${what}')`);

  async function openPicker(): Promise<void> {
    await editor.page.click(PICK);
    await editor.page.waitForSelector(ITEMS);
  }

  async function openCameras(): Promise<void> {
    await editor.open('device');
    await openPicker();
  }

  it('show the cameras by site, each with state, name and id', async () => {
    await openCameras();
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
    assert.equal(await editor.page.locator('.rvm-picker-group').count(), 3);
    assert.ok((await editor.page.locator(`${ITEMS} .rvm-good`).count()) > 0);
    assert.match(await editor.page.locator(`${ITEMS} code`).first().innerText(), /^[0-9a-f-]{36}$/);
  });

  it('find a camera by a part of its name, and put its id into the field', async () => {
    await openCameras();
    const name = await editor.page.locator(NAMES).nth(5).innerText();
    const id = await editor.page.locator(`${ITEMS} code`).nth(5).innerText();
    for (const part of [name.slice(0, -1), name])
      await editor.page.fill('.rvm-picker-search', part.toUpperCase());
    await editor.page.locator(ITEMS, { hasText: id }).click();
    assert.deepEqual([await camera('type'), await camera('value')], ['str', id]);
    assert.equal(await editor.page.locator('.rvm-picker').first().isVisible(), false);
    await editor.saves('device', { camera: id, cameraType: 'str' });
  });

  it('pick nothing by the Enter that ends what an input method composes', async () => {
    await assign('device', { camera: 'as it was' });
    await openCameras();
    const text = await editor.page.locator(NAMES).first().innerText();
    await editor.page.focus('.rvm-picker-search');
    const keyboard = await editor.page.context().newCDPSession(editor.page);
    await keyboard.send('Input.imeSetComposition', { text, selectionStart: 1, selectionEnd: 1 });
    await editor.page.keyboard.press('Enter');
    assert.equal(await camera('value'), 'as it was');
    await keyboard.send('Input.insertText', { text });
    await editor.page.keyboard.press('Enter');
    assert.match(String(await camera('value')), /^[0-9a-f-]{36}$/);
    await keyboard.detach();
  });

  it('choose the only Central Station with its camera, where none was chosen', async () => {
    await assign('device', { station: '' });
    await openCameras();
    await editor.page.locator(ITEMS).first().click();
    await editor.saves('device', { station: 'station' });
  });

  for (const [cameraType, camera] of Object.entries({
    env: 'CAMERA',
    str: '${CAMERA}',
    msg: 'event.cameraId',
  }))
    it(`leave ${camera} of ${cameraType} as it is`, async () => {
      await assign('device', { camera, cameraType });
      await openCameras();
      await editor.saves('device', { camera, cameraType });
    });

  it('offer the presets of the chosen camera, or its tours', async () => {
    await editor.open('ptz');
    await openPicker();
    const movable = (await sandbox.cameras()).find(({ ptz }) => ptz !== null);
    await editor.page.fill('.rvm-picker-search >> nth=0', movable?.id ?? '');
    await editor.page.locator(ITEMS).first().click();
    await editor.page.locator('.rvm-ptz-target .rvm-pick').click();
    await editor.page.waitForSelector(ITEMS);
    const preset = await editor.page.locator(NAMES).first().innerText();
    await editor.type('#node-input-action', { value: 'start-tour' });
    await editor.page.waitForFunction(
      `![undefined, ${JSON.stringify(preset)}].includes($(${JSON.stringify(NAMES)})[0]?.textContent)`,
    );
    await editor.page.locator(ITEMS).first().click();
    assert.notEqual(await editor.page.evaluate(`$('#node-input-target').typedInput('value')`), '');
  });

  it('say that presets need a fixed camera', async () => {
    await editor.open('ptz');
    await editor.page.locator('.rvm-ptz-target .rvm-pick').click();
    await editor.page.waitForSelector('.rvm-picker:not([hidden]) .rvm-picker-fault');
  });

  it('show the cameras of a sandbox before anything of it was deployed', async () => {
    const added = [
      { id: 'new-cloud', type: 'rvm-cloud', name: '', url: 'sandbox', configVersion: 1 },
      { id: 'new-station', type: 'rvm-central-station', name: 'New', key: 'new', cloud: 'new-cloud' },
    ];
    for (const node of added)
      await editor.page.evaluate(
        `void RED.nodes.import([${JSON.stringify(node)}], { generateIds: false, markChanged: true })`,
      );
    await assign('device', { station: 'new-station' });
    await openCameras();
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
    await closeDialog(editor.page, 'cancel');
    await assign('device', { station: 'station' });
    await editor.page.evaluate(`['new-station', 'new-cloud'].forEach((id) => RED.nodes.remove(id))`);
  });

  it('show the last cameras known, and since when, where the service is gone', async () => {
    await sandbox.end();
    await openCameras();
    await editor.page.click('.rvm-picker-refresh');
    await editor.page.waitForFunction(`/^As of /.test($('.rvm-picker-note').first().text())`);
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
    editor.errors.splice(0); // The browser reports the answer that is no success.
  });
});

const ofSandbox = () =>
  watched(cloud({ url: 'sandbox', sandboxEvents: 0, credentials: {} }), station({ credentials: {} }), DEVICE);
const secured = { flow: ofSandbox, secured: true };

describeInEditor('the lists to pick from, with users and another root', secured, (editor) => {
  it('are filled as well', async () => {
    await editor.open('device');
    await editor.page.click(PICK);
    await editor.page.waitForSelector(ITEMS);
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
  });
});
