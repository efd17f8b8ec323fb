import assert from 'node:assert/strict';
import { cloud, station } from '../../support/node-red/flows';
import { describeInEditor } from '../../support/editor/in-editor';
import { watched, type FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

function flow(): FlowNode[] {
  const types = { list: 'list-devices', device: 'get-device', snapshot: 'snapshot', request: 'request' };
  // The sandbox: a camera that is typed is looked up in the list of the service at once.
  return watched(
    cloud({ url: 'sandbox', sandboxEvents: 0, credentials: {} }),
    station({ credentials: {} }),
    ...Object.entries(types).map(([id, type]) => caller(`rvm-${type}`, { id, wires: [[], []] })),
    caller('rvm-ptz', { id: 'ptz', wires: [[], []], target: '0' }),
  );
}

describeInEditor('the dialogs of nodes that call the service', { flow }, (editor) => {
  const { assign, marked, type, visible } = editor;

  it('of ptz asks for a preset or a tour, and for none on the way home', async () => {
    await editor.open('ptz');
    for (const [action, label] of [
      [{ value: 'goto-preset' }, 'Preset'],
      [{ value: 'start-tour' }, 'Tour'],
      [{ value: 'stop-tour' }, 'Tour'],
      [{ value: 'goto-home' }, undefined],
      [{ type: 'msg' }, 'Preset or tour'],
    ] as const) {
      await type('#node-input-action', action);
      assert.deepEqual(await visible('.rvm-ptz-target'), [label !== undefined], label);
      if (label === undefined) continue;
      assert.equal(await editor.page.locator('#rvm-ptz-target-label').innerText(), label);
    }
  });

  it('of ptz marks a missing target only where the action needs one', async () => {
    const container = '.rvm-ptz-target .red-ui-typedInput-container';
    await editor.open('ptz');
    await type('#node-input-target', { value: '' });
    await marked(container);
    for (const [action, isRed] of Object.entries({
      'stop-tour': false,
      'start-tour': true,
      'goto-home': false,
    })) {
      await type('#node-input-action', { value: action });
      await marked(container, isRed);
    }
  });

  it('of api request asks for a camera, tells of msg.url and of the body only where they count', async () => {
    await editor.open('request');
    const rows = ['.rvm-request-camera >> nth=0', '.rvm-request-url', '.rvm-request-body'];
    for (const [start, method, ...expected] of [
      ['system', 'GET', false, false, false],
      ['device', 'POST', true, false, true],
      ['data-sources', 'DELETE', true, false, true],
      ['url', 'GET', false, true, false],
    ] as const) {
      await editor.page.selectOption('#node-input-start', start);
      await editor.page.selectOption('#node-input-method', method);
      assert.deepEqual(await visible(...rows), expected, start);
    }
  });

  for (const id of ['device', 'ptz', 'snapshot'])
    it(`of ${id} takes the camera of the event, from any other place as well, and marks an empty one`, async () => {
      const camera = '#node-input-camera';
      await editor.open(id);
      const typed = `['type', 'value'].map((what) => $('${camera}').typedInput(what))`;
      assert.deepEqual(await editor.page.evaluate(typed), ['msg', 'event.cameraId']);
      for (const place of ['str', 'num', 'flow', 'global', 'env', 'jsonata', 'msg']) {
        await type(camera, { type: place });
        assert.equal(await editor.page.inputValue('#node-input-cameraType'), place);
      }
      await type(camera, { value: '' });
      await marked(camera);
    });

  it('shows a variable in the place of a choice, and keeps it', async () => {
    await assign('list', { show: '${SHOW}' });
    await editor.open('list');
    assert.equal(await editor.page.inputValue('#node-input-show'), '${SHOW}');
    await editor.page.fill('#node-input-name', 'renamed');
    await editor.saves('list', { show: '${SHOW}' });
  });
});
