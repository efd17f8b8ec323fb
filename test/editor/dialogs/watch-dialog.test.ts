import assert from 'node:assert/strict';
import { closeDialog, openDialog, unfold } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { station, webhookFlow } from '../../support/node-red/flows';
import type { FlowNode } from '../../support/node-red/node-red';
import { watch } from '../../support/node-red/watch-run';

function flow(): FlowNode[] {
  const south = station({
    id: 'south-node',
    name: 'South',
    key: 'south',
    credentials: { secret: 'another phrase of the test' },
  });
  return webhookFlow({}, south, ...watch());
}

describeInEditor('the dialog of a watch', { flow }, (editor) => {
  const STATIONS = '#node-input-stations';
  const box = (key: string): string => `#rvm-watch-stations input[value="${key}"]`;
  /** The editor judges a field once it is left. */
  const enter = async (field: string, text: string): Promise<void> => {
    await editor.page.fill(field, text);
    await editor.page.press(field, 'Tab');
  };
  const saved = (): Promise<unknown> => editor.page.evaluate(`RED.nodes.node('watch').stations`);

  it('offers the Central Stations by name, and keeps the short names of those that are ticked', async () => {
    await openDialog(editor.page, 'watch');
    const names = await editor.page.locator('#rvm-watch-stations label span').allInnerTexts();
    assert.deepEqual(names, ['North', 'South']);
    await editor.page.check(box('south'));
    assert.equal(await editor.page.inputValue(STATIONS), 'south');
    await editor.page.check(box('north'));
    if (process.env['RVM_SHOT'] !== undefined)
      await editor.page.screenshot({ path: process.env['RVM_SHOT'] });
    await closeDialog(editor.page, 'ok');
    assert.equal(await saved(), 'north, south');
  });

  it('ticks what is typed, keeps what it does not know, and says that nobody has it', async () => {
    await openDialog(editor.page, 'watch');
    await enter(STATIONS, 'south, west');
    assert.deepEqual(
      [await editor.page.isChecked(box('north')), await editor.page.isChecked(box('south'))],
      [false, true],
    );
    await editor.page.waitForSelector(`${STATIONS}.input-error`);
    await editor.page.uncheck(box('south'));
    assert.equal(await editor.page.inputValue(STATIONS), 'west');
    await enter(STATIONS, '');
    await editor.page.waitForSelector(`${STATIONS}:not(.input-error)`);
    await closeDialog(editor.page, 'ok');
    assert.equal(await saved(), '');
  });

  it('refuses a pulse without a pause, and takes hours of silence in webhook in', async () => {
    await openDialog(editor.page, 'watch');
    await enter('#node-input-interval', '0');
    await editor.page.waitForSelector('#node-input-interval.input-error');
    await closeDialog(editor.page, 'cancel');
    await openDialog(editor.page, 'webhook');
    await unfold(editor.page);
    assert.equal(await editor.page.inputValue('#node-input-silentAfter'), '0');
    await editor.page.fill('#node-input-silentAfter', '26');
    await closeDialog(editor.page, 'ok');
    assert.equal(await editor.page.evaluate(`String(RED.nodes.node('webhook').silentAfter)`), '26');
  });
});
