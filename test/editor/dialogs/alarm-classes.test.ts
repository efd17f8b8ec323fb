import assert from 'node:assert/strict';
import { closeDialog, openDialog } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { webhookFlow } from '../../support/node-red/flows';
import type { FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

const UNKNOWN = '.rvm-chip-unknown > span';
const FIELD = '#node-input-classes';

function flow(): FlowNode[] {
  return webhookFlow({}, caller('rvm-alarm-state', { id: 'state', wires: [[], [], []] }));
}

describeInEditor('the classes of an alarm state', { flow }, (editor) => {
  async function open(classes: string): Promise<void> {
    await editor.page.evaluate(`RED.nodes.node('state').classes = ${JSON.stringify(classes)}`);
    await openDialog(editor.page, 'state');
  }
  const saved = (): Promise<unknown> => editor.page.evaluate(`RED.nodes.node('state').classes`);
  const chips = async (): Promise<string[]> => {
    const shown = editor.page.locator('.rvm-chip > span');
    await shown.first().waitFor();
    return await shown.allInnerTexts();
  };
  const seen = async (eventClass: string): Promise<void> => {
    const own = { ids: [eventClass], name: eventClass, group: '' };
    const json = { classes: [own], sites: [], cameras: [], rules: [], isWhole: true, kinds: [] };
    await editor.page.route(/rvm\/seen-ids/, (route) => route.fulfill({ json }));
  };
  afterEach(() => editor.page.unroute(/rvm\/seen-ids/));

  it('are red where one is unknown, and say which, until it is taken out', async () => {
    await open('security, securty');
    await editor.page.locator(UNKNOWN).waitFor();
    assert.deepEqual(await editor.page.locator(UNKNOWN).allInnerTexts(), ['securty']);
    const reason = editor.page.locator(`.form-row:has(${FIELD}) .rvm-reason`);
    assert.match(await reason.innerText(), /^Unknown class: securty\./);
    await editor.page.click('.rvm-chip-unknown button');
    await editor.page.waitForSelector(`${FIELD}:not(.input-error)`, { state: 'attached' });
    await closeDialog(editor.page, 'ok');
    assert.equal(await saved(), 'security');
  });

  it('are known where an event was of one', async () => {
    await seen('Fire');
    await open('fire, securty');
    await editor.page.locator(UNKNOWN).waitFor();
    assert.deepEqual(await editor.page.locator(UNKNOWN).allInnerTexts(), ['securty']);
  });

  it('are picked from those of the specification and those that events were of', async () => {
    await seen('Fire');
    await open('');
    await editor.page.locator(`.form-row:has(${FIELD}) .rvm-pick`).click();
    await editor.page.locator('.rvm-picker-item').first().waitFor();
    assert.deepEqual(await editor.page.locator('.rvm-picker-name').allInnerTexts(), [
      'security',
      'health',
      'Fire',
    ]);
    await editor.page.locator('.rvm-picker-item').nth(1).click();
    await closeDialog(editor.page, 'ok');
    assert.equal(await saved(), 'health');
  });

  it('may be a variable in place of all of them', async () => {
    await open('${CLASSES}');
    assert.deepEqual(await chips(), ['${CLASSES}']);
    assert.equal(await editor.page.locator(`${FIELD}.input-error`).count(), 0);
    await closeDialog(editor.page, 'ok');
    assert.equal(await saved(), '${CLASSES}');
  });

  it('are no variable beside others', async () => {
    await open('${CLASSES}, security');
    await editor.page.waitForSelector(`${FIELD}.input-error`, { state: 'attached' });
  });

  it('say where none is chosen that all but health count', async () => {
    await open('');
    assert.equal(await editor.page.getAttribute('#rvm-chip-entry-classes', 'placeholder'), 'all but health');
  });
});
