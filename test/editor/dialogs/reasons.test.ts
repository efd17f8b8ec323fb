import assert from 'node:assert/strict';
import { closeDialog, loadEditor, speak, typeInto } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { webhookFlow } from '../../support/node-red/flows';
import type { FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

const TYPES = { proof: 'verify', device: 'get-device', events: 'list-events', clip: 'get-clip' };

function flow(): FlowNode[] {
  const nodes = Object.entries(TYPES).map(([id, type]) => caller(`rvm-${type}`, { id, wires: [[], []] }));
  return webhookFlow({}, ...nodes);
}

describeInEditor('below a field that is red', { flow }, (editor) => {
  const { assign, reason } = editor;
  const says = (field: string, why: RegExp): Promise<void> =>
    reason(field).filter({ hasText: why }).waitFor();

  it('stands nothing while it is not', async () => {
    for (const id of ['webhook', 'station', 'cloud', ...Object.keys(TYPES)]) {
      await editor.open(id);
      assert.equal(await editor.page.locator('.rvm-reason').count(), 0, id);
      await closeDialog(editor.page, 'cancel');
    }
  });

  it('stands why, and another why once it is wrong in another way, and nothing once it is right', async () => {
    const path = '#node-input-path';
    await editor.open('webhook');
    await typeInto(editor.page, path, '/with space');
    await says(path, /letters from a to z/);
    await typeInto(editor.page, path, '');
    await says(path, /random/);
    await typeInto(editor.page, path, '/good');
    await reason(path).waitFor({ state: 'hidden' });
  });

  it('stands it for those who cannot see, too', async () => {
    await editor.open('clip');
    await typeInto(editor.page, '#node-input-deadline', '0');
    await editor.page.locator('#node-input-deadline[aria-invalid="true"]').waitFor();
    assert.equal(await reason('#node-input-deadline').getAttribute('role'), 'status');
  });

  it('stands that a Central Station has to be chosen, where a node cannot do without', async () => {
    await editor.open('proof');
    await editor.page.selectOption('#node-input-station', '_ADD_');
    await says('#node-input-station', /add one/);
    await editor.page.selectOption('#node-input-station', 'station');
    await reason('#node-input-station').waitFor({ state: 'hidden' });
  });

  it('stands that a chosen Central Station is not filled in correctly', async () => {
    await assign('station', { valid: false });
    await editor.open('proof');
    await says('#node-input-station', /not filled in/);
    await assign('station', { valid: true });
  });

  it('stands in the dialog of a Central Station that it needs a cloud', async () => {
    await editor.open('station');
    await editor.page.selectOption('#node-config-input-cloud', '_ADD_');
    await says('#node-config-input-cloud', /add one/);
  });

  it('stands where a camera may be found, of a typed input that is empty', async () => {
    await editor.open('device');
    await editor.type('#node-input-camera', { value: '' });
    await says('#node-input-camera', /name of a camera/);
  });

  it('stands what a time of list events can be, where a fixed one is none, and nothing once it is elsewhere', async () => {
    await editor.open('events');
    for (const field of ['#node-input-since', '#node-input-until']) {
      await editor.type(field, { value: 'yesterday' });
      await says(field, /Enter a time/);
      await editor.type(field, { type: 'msg' });
      await reason(field).waitFor({ state: 'hidden' });
    }
  });

  it('stands what the editor has against an expression that cannot be read', async () => {
    await editor.open('events');
    await editor.type('#node-input-since', { type: 'jsonata', value: '(1 +' });
    await says('#node-input-since', /expression/i);
  });

  it('stands one line for both fields of a row', async () => {
    await editor.open('station');
    for (const name of ['username', 'password'])
      await typeInto(editor.page, `#node-config-input-${name}`, '');
    await editor.marked('#node-config-input-password');
    const ofRow = reason('#node-config-input-username');
    await ofRow.waitFor();
    assert.equal((await ofRow.innerText()).match(/can only receive/g)?.length, 1);
  });

  it('stands it in the language of the person', async () => {
    await speak(editor.page, 'de-DE');
    await loadEditor(editor.page, editor.nodeRed);
    await editor.open('proof');
    await editor.page.selectOption('#node-input-station', '_ADD_');
    await says('#node-input-station', /Wählen Sie/);
  });
});
