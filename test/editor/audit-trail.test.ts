import assert from 'node:assert/strict';
import { closeDialog, openDialog } from '../support/editor/browser';
import { describeInEditor } from '../support/editor/in-editor';
import { PHRASE, webhookFlow } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';

function flow(): FlowNode[] {
  const settle = { id: 'settle', type: 'rvm-settle', name: 'to the PLC', z: 'tab', x: 300, y: 400 };
  const list = { id: 'events', type: 'rvm-list-events', z: 'tab', x: 300, y: 500 };
  const others = [settle, list].map((node) => ({ ...node, wires: [[], []] }));
  return webhookFlow(
    { webhook: { handledWhen: 'settled' }, station: { credentials: { secret: PHRASE } } },
    ...others,
  );
}

describeInEditor('what a person found, and what became of events', { flow }, (editor) => {
  const valuesOf = (id: string, names: readonly string[]): Promise<unknown> =>
    editor.page.evaluate(`(() => {
      const node = RED.nodes.node('${id}');
      return ${JSON.stringify(names)}.map((name) => node[name]);
    })()`);

  it('takes verdict, remark and person from the message, unless the dialog says otherwise', async () => {
    const names = ['verdict', 'verdictType', 'note', 'noteType', 'by', 'byType'];
    await openDialog(editor.page, 'settle');
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('settle', names), ['verdict', 'msg', 'note', 'msg', 'by', 'msg']);
    await openDialog(editor.page, 'settle');
    await editor.page.evaluate(
      `$('#node-input-verdict').typedInput('type', 'str').typedInput('value', 'false')`,
    );
    await editor.page.evaluate(
      `$('#node-input-note').typedInput('type', 'str').typedInput('value', 'A cat')`,
    );
    const tray = editor.page.locator('.red-ui-tray').last();
    assert.match(await tray.innerText(), /What a person found[^]*false: a false alarm/);
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('settle', names), ['false', 'str', 'A cat', 'str', 'by', 'msg']);
    await openDialog(editor.page, 'settle');
    assert.equal(await editor.page.evaluate(`$('#node-input-verdict').typedInput('value')`), 'false');
  });

  it('are listed with their history or counted, not both, and all of them where there is no other wish', async () => {
    await openDialog(editor.page, 'events');
    const history = editor.page.locator('#node-input-history');
    const tip = editor.page.getByText('Only the events chosen above are counted');
    assert.deepEqual([await history.isChecked(), await tip.isVisible()], [false, false]);
    await history.check();
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('events', ['history', 'groupBy']), [true, '']);
    await openDialog(editor.page, 'events');
    await editor.page.selectOption('#node-input-groupBy', 'site');
    assert.deepEqual([await history.isVisible(), await tip.isVisible()], [false, true]);
    await editor.page.selectOption('#node-input-state', 'all');
    assert.equal(await tip.isVisible(), false);
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('events', ['history', 'groupBy']), [true, 'site']);
  });
});
