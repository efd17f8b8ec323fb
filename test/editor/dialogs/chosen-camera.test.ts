import assert from 'node:assert/strict';
import { Sandbox } from '../../../sandbox';
import { closeDialog, loadEditor, openDialog } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { cloud, station } from '../../support/node-red/flows';
import { entrance, inject, watched, type FlowNode } from '../../support/node-red/node-red';
import { caller, type SandboxCamera } from '../../support/node-red/station-flow';

const NAME = '.rvm-camera-name';
const LINE = '.rvm-camera-line';
const PICTURE = '.rvm-camera-picture img';
const INPUT = '#node-input-camera + .red-ui-typedInput-container .red-ui-typedInput-input';
const TYPES = ['get-picture', 'get-clip', 'view', 'get-rtsp', 'get-device', 'ptz', 'snapshot', 'request'];

let sandbox: Sandbox;

async function flow(): Promise<FlowNode[]> {
  sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0 });
  const credentials = sandbox.setStation('north', { scheme: 'http' });
  return watched(
    cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey } }),
    station({ credentials }),
    ...TYPES.map((type) =>
      caller(`rvm-${type}`, { id: type, mode: 'live', start: 'device', wires: [[], []] }),
    ),
    ...entrance('enter', 'taken'),
    caller('rvm-snapshot', { id: 'taken', camera: 'camera', cameraType: 'msg', wires: [['status'], []] }),
  );
}

describeInEditor('a camera that is chosen', { flow, end: () => sandbox.close() }, (editor) => {
  async function cameras(): Promise<[SandboxCamera, SandboxCamera]> {
    const state = (await (await fetch(`${sandbox.url}/sandbox/state`)).json()) as {
      cameras: SandboxCamera[];
    };
    const [one, other] = state.cameras.filter(({ status }) => status === 'online');
    assert.ok(one !== undefined && other !== undefined);
    return [one, other];
  }

  async function choose(id: string, camera: string, cameraType = 'str'): Promise<void> {
    const values = JSON.stringify({ camera, cameraType });
    await editor.page.evaluate(`Object.assign(RED.nodes.node(${JSON.stringify(id)}), ${values})`);
    await openDialog(editor.page, id);
  }

  const shown = (selector: string): Promise<string> => editor.page.locator(selector).innerText();

  for (const type of TYPES) {
    it(`shows by its name and site in ${type}, with its id below`, async () => {
      const [{ id, name }] = await cameras();
      await choose(type, id);
      await editor.page.locator(NAME, { hasText: `${name} · ` }).waitFor();
      assert.equal(await shown(LINE), id);
      await closeDialog(editor.page, 'ok');
      assert.equal(await editor.page.evaluate(`RED.nodes.node(${JSON.stringify(type)}).camera`), id);
    });
  }

  it('shows so once it was picked from the list, and another once that was', async () => {
    const [{ name }, other] = await cameras();
    await choose('get-device', 'event.cameraId', 'msg');
    assert.equal(await editor.page.locator(NAME).isVisible(), false);
    for (const picked of [name, other.name]) {
      await editor.page.click('.rvm-pick');
      await editor.page.fill('.rvm-picker-search', picked);
      await editor.page.locator('.rvm-picker-item', { hasText: picked }).first().click();
      await editor.page.locator(NAME, { hasText: `${picked} · ` }).waitFor();
    }
    assert.equal(await shown(LINE), other.id);
  });

  it('shows its id to one who is in the field, and its name again after that', async () => {
    const [{ id }] = await cameras();
    await choose('get-device', id);
    await editor.page.locator(NAME).waitFor();
    await editor.page.locator(INPUT).focus();
    await editor.page.locator(NAME).waitFor({ state: 'hidden' });
    assert.equal(await editor.page.inputValue(INPUT), id);
    await editor.page.locator('#node-input-name').focus();
    await editor.page.locator(NAME).waitFor();
  });

  it('shows so after the editor was loaded once more', async () => {
    const [{ id, name }] = await cameras();
    const flows = (await flowWith(id)).map((node) => node);
    await editor.nodeRed.deploy(flows);
    await loadEditor(editor.page, editor.nodeRed);
    await openDialog(editor.page, 'get-device');
    await editor.page.locator(NAME, { hasText: `${name} · ` }).waitFor();
  });

  it('says that the list has none of that id', async () => {
    await choose('get-device', '7c2a9e4f-1b3d-4e5f-8a6b-9c0d1e2f3a04');
    await editor.page.locator(LINE, { hasText: /has no camera of this id/ }).waitFor();
    assert.equal(await editor.page.locator(NAME).isVisible(), false);
  });

  it('says nothing where a message or a variable decides', async () => {
    for (const [value, type] of [
      ['event.cameraId', 'msg'],
      ['${CAMERA}', 'str'],
    ] as const) {
      await choose('get-device', value, type);
      assert.equal(await editor.page.locator(`${NAME}:visible, ${LINE}:visible`).count(), 0);
      await closeDialog(editor.page, 'cancel');
    }
  });

  it('has its last picture beside it, under the pointer and for one who is in the field', async () => {
    const [{ id }, other] = await cameras();
    await inject(editor.nodeRed, 'enter', { camera: id });
    await editor.nodeRed.until(
      () => editor.nodeRed.at('status').some((msg) => 'snapshot' in msg),
      'the snapshot',
    );
    await choose('get-device', id);
    await editor.page.locator(NAME).waitFor();
    assert.equal(await editor.page.locator(PICTURE).count(), 0);
    await editor.page.hover('.rvm-camera-field');
    await editor.page.locator(PICTURE).waitFor();
    await editor.page.mouse.move(0, 0);
    await editor.page.locator(PICTURE).waitFor({ state: 'hidden' });
    await editor.page.locator(INPUT).focus();
    await editor.page.locator(PICTURE).waitFor();
    await editor.page.keyboard.press('Escape');
    await closeDialog(editor.page, 'cancel');

    await choose('get-device', other.id);
    await editor.page.locator(NAME).waitFor();
    const answered = editor.page.waitForResponse(/camera-picture/);
    await editor.page.hover('.rvm-camera-field');
    assert.equal(((await (await answered).json()) as { jpeg: unknown }).jpeg, null);
    assert.equal(await editor.page.locator(PICTURE).count(), 0);
  });

  async function flowWith(camera: string): Promise<FlowNode[]> {
    const response = await fetch(`${editor.nodeRed.url}/flows`);
    const flows = (await response.json()) as FlowNode[];
    return flows.map((node) => (node.id === 'get-device' ? { ...node, camera, cameraType: 'str' } : node));
  }

  it('shows so, as it was last seen, while the service is gone', async () => {
    const [{ id, name }] = await cameras();
    await sandbox.close();
    await choose('get-device', id);
    await editor.page.locator(NAME, { hasText: `${name} · ` }).waitFor();
    editor.errors.splice(0); // The browser may report an answer that is no success.
  });
});
