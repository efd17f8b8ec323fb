import assert from 'node:assert/strict';
import { closeDialog, loadEditor, openDialog, speak, typeInto } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { webhookFlow } from '../../support/node-red/flows';
import type { FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

function flow(): FlowNode[] {
  const node = (id: string, type: string): FlowNode => caller(type, { id, wires: [[], []] });
  return webhookFlow(
    {},
    node('proof', 'rvm-verify'),
    node('device', 'rvm-get-device'),
    node('events', 'rvm-list-events'),
    node('clip', 'rvm-get-clip'),
  );
}

describeInEditor('below a field that is red', { flow }, (editor) => {
  const reason = (field: string) => editor.page.locator(`.form-row:has(${field}) .rvm-reason`);

  async function change(field: string, change: string): Promise<void> {
    await editor.page.evaluate(`$(${JSON.stringify(field)}).${change}.trigger('change')`);
  }

  it('stands nothing while it is not', async () => {
    for (const id of ['webhook', 'proof', 'device', 'events', 'clip', 'station', 'cloud']) {
      await openDialog(editor.page, id);
      assert.equal(await editor.page.locator('.rvm-reason').count(), 0, id);
      await closeDialog(editor.page, 'cancel');
    }
  });

  it('stands why, and another why once it is wrong in another way, and nothing once it is right', async () => {
    const path = '#node-input-path';
    await openDialog(editor.page, 'webhook');
    await typeInto(editor.page, path, '/with space');
    await reason(path)
      .filter({ hasText: /letters from a to z/ })
      .waitFor();
    await typeInto(editor.page, path, '');
    await reason(path)
      .filter({ hasText: /random/ })
      .waitFor();
    await typeInto(editor.page, path, '/good');
    await reason(path).waitFor({ state: 'hidden' });
  });

  it('stands it for those who cannot see, too', async () => {
    await openDialog(editor.page, 'clip');
    await typeInto(editor.page, '#node-input-deadline', '0');
    await editor.page.locator('#node-input-deadline[aria-invalid="true"]').waitFor();
    assert.equal(await reason('#node-input-deadline').getAttribute('role'), 'status');
  });

  it('stands that a Central Station has to be chosen, where a node cannot do without', async () => {
    await openDialog(editor.page, 'proof');
    await editor.page.selectOption('#node-input-station', '_ADD_');
    await reason('#node-input-station')
      .filter({ hasText: /add one/ })
      .waitFor();
    await editor.page.selectOption('#node-input-station', 'station');
    await reason('#node-input-station').waitFor({ state: 'hidden' });
  });

  it('stands that a chosen Central Station is not filled in correctly', async () => {
    await editor.page.evaluate(`RED.nodes.node('station').valid = false`);
    await openDialog(editor.page, 'proof');
    await reason('#node-input-station')
      .filter({ hasText: /not filled in/ })
      .waitFor();
    await editor.page.evaluate(`RED.nodes.node('station').valid = true`);
  });

  it('stands in the dialog of a Central Station that it needs a cloud', async () => {
    await openDialog(editor.page, 'station');
    await editor.page.selectOption('#node-config-input-cloud', '_ADD_');
    await reason('#node-config-input-cloud')
      .filter({ hasText: /add one/ })
      .waitFor();
  });

  it('stands where a camera may be found, of a typed input that is empty', async () => {
    await openDialog(editor.page, 'device');
    await change('#node-input-camera', `typedInput('value', '')`);
    await reason('#node-input-camera')
      .filter({ hasText: /name of a camera/ })
      .waitFor();
  });

  it('stands what the editor has against an expression that cannot be read', async () => {
    await openDialog(editor.page, 'events');
    await editor.page.evaluate(`$('#node-input-since').typedInput('type', 'jsonata')`);
    await change('#node-input-since', `typedInput('value', '(1 +')`);
    await reason('#node-input-since')
      .filter({ hasText: /expression/i })
      .waitFor();
  });

  it('stands one line for both fields of a row', async () => {
    await openDialog(editor.page, 'station');
    for (const name of ['username', 'password'])
      await typeInto(editor.page, `#node-config-input-${name}`, '');
    await editor.page.waitForSelector('#node-config-input-password.input-error');
    await reason('#node-config-input-username').waitFor();
    assert.equal(
      (await reason('#node-config-input-username').innerText()).match(/can only receive/g)?.length,
      1,
    );
  });

  it('stands it in the language of the person', async () => {
    await speak(editor.page, 'de-DE');
    await loadEditor(editor.page, editor.nodeRed);
    await openDialog(editor.page, 'proof');
    await editor.page.selectOption('#node-input-station', '_ADD_');
    await reason('#node-input-station')
      .filter({ hasText: /Wählen Sie/ })
      .waitFor();
  });
});
