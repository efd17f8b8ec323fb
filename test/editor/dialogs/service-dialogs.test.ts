import assert from 'node:assert/strict';
import { closeDialog, openDialog } from '../../support/editor/browser';
import { cloud, station } from '../../support/node-red/flows';
import { describeInEditor } from '../../support/editor/in-editor';
import { watched, type FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

function flow(): FlowNode[] {
  const node = (id: string, type: string, properties: Record<string, unknown> = {}): FlowNode =>
    caller(type, { id, wires: [[], []], ...properties });
  // The sandbox: a camera that is typed is looked up in the list of the service at once.
  return watched(
    cloud({ url: 'sandbox', sandboxEvents: 0, credentials: {} }),
    station({ credentials: {} }),
    node('list', 'rvm-list-devices'),
    node('device', 'rvm-get-device'),
    node('ptz', 'rvm-ptz', { target: '0' }),
    node('snapshot', 'rvm-snapshot'),
    node('request', 'rvm-request'),
  );
}

describeInEditor('the dialogs of nodes that call the service', { flow }, (editor) => {
  it('of ptz asks for a preset or a tour, and for none on the way home', async () => {
    await openDialog(editor.page, 'ptz');
    const target = editor.page.locator('.rvm-ptz-target');
    const label = editor.page.locator('#rvm-ptz-target-label');
    for (const [action, text] of [
      ['goto-preset', 'Preset'],
      ['start-tour', 'Tour'],
      ['stop-tour', 'Tour'],
    ]) {
      await editor.page.evaluate(`$('#node-input-action').typedInput('value', ${JSON.stringify(action)})`);
      assert.ok(await target.isVisible(), action);
      assert.equal(await label.innerText(), text);
    }
    await editor.page.evaluate(`$('#node-input-action').typedInput('value', 'goto-home')`);
    assert.equal(await target.isVisible(), false);
    await editor.page.evaluate(`$('#node-input-action').typedInput('type', 'msg')`);
    assert.ok(await target.isVisible());
    assert.equal(await label.innerText(), 'Preset or tour');
  });

  it('of ptz marks a missing target only where the action needs one', async () => {
    const container = '.rvm-ptz-target .red-ui-typedInput-container';
    await openDialog(editor.page, 'ptz');
    await editor.page.evaluate(`$('#node-input-target').typedInput('value', '')`);
    await editor.page.waitForSelector(`${container}.input-error`);
    for (const [action, state] of [
      ['stop-tour', ':not(.input-error)'],
      ['start-tour', '.input-error'],
      ['goto-home', ':not(.input-error)'],
    ]) {
      await editor.page.evaluate(`$('#node-input-action').typedInput('value', ${JSON.stringify(action)})`);
      await editor.page.waitForSelector(`${container}${state}`, { state: 'attached' });
    }
  });

  it('of api request asks for a camera, tells of msg.url and of the body only where they count', async () => {
    await openDialog(editor.page, 'request');
    const rows = ['.rvm-request-camera >> nth=0', '.rvm-request-url', '.rvm-request-body'];
    for (const [start, method, expected] of [
      ['system', 'GET', [false, false, false]],
      ['device', 'POST', [true, false, true]],
      ['data-sources', 'DELETE', [true, false, true]],
      ['url', 'GET', [false, true, false]],
    ] as const) {
      await editor.page.selectOption('#node-input-start', start);
      await editor.page.selectOption('#node-input-method', method);
      assert.deepEqual(await visible(rows), expected, start);
    }
  });

  for (const id of ['device', 'ptz', 'snapshot']) {
    it(`of ${id} takes the camera of the event, from any other place as well, and marks an empty one`, async () => {
      await openDialog(editor.page, id);
      const camera = `$('#node-input-camera')`;
      assert.equal(await editor.page.evaluate(`${camera}.typedInput('type')`), 'msg');
      assert.equal(await editor.page.evaluate(`${camera}.typedInput('value')`), 'event.cameraId');
      for (const type of ['str', 'num', 'flow', 'global', 'env', 'jsonata', 'msg']) {
        await editor.page.evaluate(`${camera}.typedInput('type', ${JSON.stringify(type)})`);
        assert.equal(await editor.page.inputValue('#node-input-cameraType'), type);
      }
      await editor.page.evaluate(`${camera}.typedInput('value', '')`);
      await editor.page.waitForSelector('#node-input-camera.input-error', { state: 'attached' });
      await closeDialog(editor.page, 'cancel');
    });
  }

  it('shows a variable in the place of a choice, and keeps it', async () => {
    await editor.page.evaluate(`RED.nodes.node('list').show = '\${SHOW}'`);
    await openDialog(editor.page, 'list');
    assert.equal(await editor.page.inputValue('#node-input-show'), '${SHOW}');
    await editor.page.fill('#node-input-name', 'renamed');
    await closeDialog(editor.page, 'ok');
    assert.equal(await editor.page.evaluate(`RED.nodes.node('list').show`), '${SHOW}');
    await editor.page.evaluate(`Object.assign(RED.nodes.node('list'), { show: 'all', name: '' })`);
  });

  async function visible(selectors: readonly string[]): Promise<boolean[]> {
    return Promise.all(selectors.map((selector) => editor.page.locator(selector).isVisible()));
  }
});
