import assert from 'node:assert/strict';
import { closeDialog, loadEditor } from '../../support/editor/browser';
import { describeInEditor, withSandbox } from '../../support/editor/in-editor';
import { entrance, inject, type FlowNode } from '../../support/node-red/node-red';
import { caller, isOnline, type SandboxCamera } from '../../support/node-red/station-flow';

const NAME = '.rvm-camera-name';
const LINE = '.rvm-camera-line';
const PICTURE = '.rvm-camera-picture img';
const INPUT = '#node-input-camera + .red-ui-typedInput-container .red-ui-typedInput-input';
const TYPES = ['get-picture', 'get-clip', 'view', 'get-rtsp', 'get-device', 'ptz', 'snapshot', 'request'];

const sandbox = withSandbox(
  {},
  ...TYPES.map((type) => caller(`rvm-${type}`, { id: type, mode: 'live', start: 'device', wires: [[], []] })),
  ...entrance('enter', 'taken'),
  caller('rvm-snapshot', { id: 'taken', camera: 'camera', cameraType: 'msg', wires: [['status'], []] }),
);

describeInEditor('a camera that is chosen', sandbox, (editor) => {
  async function cameras(): Promise<[SandboxCamera, SandboxCamera]> {
    const [one, other] = (await sandbox.cameras()).filter(isOnline);
    return [one ?? assert.fail(), other ?? assert.fail()];
  }

  async function choose(camera: string, cameraType = 'str', id = 'get-device'): Promise<void> {
    await editor.assign(id, { camera, cameraType });
    await editor.open(id);
  }

  const named = ({ name }: SandboxCamera): Promise<void> =>
    editor.page.locator(NAME, { hasText: `${name} · ` }).waitFor();
  const shown = (place: string, state: 'visible' | 'hidden' = 'visible'): Promise<void> =>
    editor.page.locator(place).waitFor({ state });

  for (const type of TYPES)
    it(`shows by its name and site in ${type}, with its id below`, async () => {
      const [camera] = await cameras();
      await choose(camera.id, 'str', type);
      await named(camera);
      assert.equal(await editor.page.locator(LINE).innerText(), camera.id);
      await editor.saves(type, { camera: camera.id });
    });

  it('shows so once it was picked from the list, and another once that was', async () => {
    const both = await cameras();
    await choose('event.cameraId', 'msg');
    assert.deepEqual(await editor.visible(NAME), [false]);
    for (const camera of both) {
      await editor.page.click('.rvm-pick');
      await editor.page.fill('.rvm-picker-search', camera.name);
      await editor.page.locator('.rvm-picker-item', { hasText: camera.name }).first().click();
      await named(camera);
    }
    assert.equal(await editor.page.locator(LINE).innerText(), both[1].id);
  });

  it('shows its id to one who is in the field, and its name again after that', async () => {
    const [{ id }] = await cameras();
    await choose(id);
    await shown(NAME);
    await editor.page.locator(INPUT).focus();
    await shown(NAME, 'hidden');
    assert.equal(await editor.page.inputValue(INPUT), id);
    await editor.page.locator('#node-input-name').focus();
    await shown(NAME);
  });

  it('shows so after the editor was loaded once more', async () => {
    const [camera] = await cameras();
    const flows = (await (await fetch(`${editor.nodeRed.url}/flows`)).json()) as FlowNode[];
    const chosen = { camera: camera.id, cameraType: 'str' };
    await editor.nodeRed.deploy(
      flows.map((node) => (node.id === 'get-device' ? { ...node, ...chosen } : node)),
    );
    await loadEditor(editor.page, editor.nodeRed);
    await editor.open('get-device');
    await named(camera);
  });

  it('says that the list has none of that id', async () => {
    await choose('7c2a9e4f-1b3d-4e5f-8a6b-9c0d1e2f3a04');
    await editor.page.locator(LINE, { hasText: /has no camera of this id/ }).waitFor();
    assert.deepEqual(await editor.visible(NAME), [false]);
  });

  for (const [value, type] of [
    ['event.cameraId', 'msg'],
    ['${CAMERA}', 'str'],
  ])
    it(`says nothing where ${value} decides`, async () => {
      await choose(value ?? '', type);
      assert.equal(await editor.page.locator(`${NAME}:visible, ${LINE}:visible`).count(), 0);
    });

  it('has its last picture beside it, under the pointer and for one who is in the field', async () => {
    const [{ id }, other] = await cameras();
    await inject(editor.nodeRed, 'enter', { camera: id });
    await editor.nodeRed.message('status', (msg) => 'snapshot' in msg);
    await choose(id);
    await shown(NAME);
    assert.equal(await editor.page.locator(PICTURE).count(), 0);
    await editor.page.hover('.rvm-camera-field');
    await shown(PICTURE);
    await editor.page.mouse.move(0, 0);
    await shown(PICTURE, 'hidden');
    await editor.page.locator(INPUT).focus();
    await shown(PICTURE);
    await editor.page.keyboard.press('Escape');
    await closeDialog(editor.page, 'cancel');

    await choose(other.id);
    await shown(NAME);
    const answered = editor.page.waitForResponse(/camera-picture/);
    await editor.page.hover('.rvm-camera-field');
    assert.equal(((await (await answered).json()) as { jpeg: unknown }).jpeg, null);
    assert.equal(await editor.page.locator(PICTURE).count(), 0);
  });

  it('shows so, as it was last seen, while the service is gone', async () => {
    const [camera] = await cameras();
    await sandbox.end();
    await choose(camera.id);
    await named(camera);
    editor.errors.splice(0); // The browser may report an answer that is no success.
  });
});
