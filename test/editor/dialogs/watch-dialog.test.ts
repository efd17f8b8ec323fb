import assert from 'node:assert/strict';
import { closeDialog, unfold } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { station, webhookFlow } from '../../support/node-red/flows';
import { watch } from '../../support/node-red/watch-run';

const STATIONS = '#node-input-stations';
const credentials = { secret: 'another phrase' };
const SOUTH = station({ id: 'south-node', name: 'South', key: 'south', credentials });

describeInEditor('the dialog of a watch', { flow: () => webhookFlow({}, SOUTH, ...watch()) }, (editor) => {
  const { enter, marked, valuesOf } = editor;
  const box = (key: string): string => `#rvm-watch-stations input[value="${key}"]`;

  it('offers the Central Stations by name, and keeps the short names of those that are ticked', async () => {
    await editor.open('watch');
    const names = await editor.page.locator('#rvm-watch-stations label span').allInnerTexts();
    assert.deepEqual(names, ['North', 'South']);
    await editor.page.check(box('south'));
    assert.equal(await editor.page.inputValue(STATIONS), 'south');
    await editor.page.check(box('north'));
    await editor.saves('watch', { stations: 'north, south' });
  });

  it('ticks what is typed, keeps what it does not know, and says that nobody has it', async () => {
    await editor.open('watch');
    await enter(STATIONS, 'south, west');
    const ticked = ['north', 'south'].map((key) => editor.page.isChecked(box(key)));
    assert.deepEqual(await Promise.all(ticked), [false, true]);
    await marked(STATIONS);
    await editor.page.uncheck(box('south'));
    assert.equal(await editor.page.inputValue(STATIONS), 'west');
    await enter(STATIONS, '');
    await marked(STATIONS, false);
    await editor.saves('watch', { stations: '' });
  });

  it('refuses a pulse without a pause, and takes hours of silence in webhook in', async () => {
    await editor.open('watch');
    await enter('#node-input-interval', '0');
    await marked('#node-input-interval');
    await closeDialog(editor.page, 'cancel');
    await editor.open('webhook');
    await unfold(editor.page);
    assert.equal(await editor.page.inputValue('#node-input-silentAfter'), '0');
    await editor.page.fill('#node-input-silentAfter', '26');
    await closeDialog(editor.page, 'ok');
    assert.equal(String(await valuesOf('webhook', 'silentAfter')), '26');
  });
});
