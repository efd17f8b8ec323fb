import assert from 'node:assert/strict';
import { closeDialog } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { webhookFlow } from '../../support/node-red/flows';
import { caller } from '../../support/node-red/station-flow';

const FIELD = '#node-input-classes';

const flow = () => webhookFlow({}, caller('rvm-alarm-state', { id: 'state', wires: [[], [], []] }));

describeInEditor('the classes of an alarm state', { flow }, (editor) => {
  const { marked } = editor;

  async function open(classes: string): Promise<void> {
    await editor.assign('state', { classes });
    await editor.open('state');
  }
  const saves = (classes: string): Promise<void> => editor.saves('state', { classes });
  async function unknownIs(eventClass: string): Promise<void> {
    const unknown = editor.page.locator('.rvm-chip-unknown > span');
    await unknown.first().waitFor();
    assert.deepEqual(await unknown.allInnerTexts(), [eventClass]);
  }
  async function seen(eventClass: string): Promise<void> {
    const own = { ids: [eventClass], name: eventClass, group: '' };
    const json = { classes: [own], sites: [], cameras: [], rules: [], isWhole: true, kinds: [] };
    await editor.page.route(/rvm\/seen-ids/, (route) => route.fulfill({ json }));
  }
  afterEach(() => editor.page.unroute(/rvm\/seen-ids/));

  it('are red where one is unknown, and say which, until it is taken out', async () => {
    await open('security, securty');
    await unknownIs('securty');
    assert.match(await editor.reason(FIELD).innerText(), /^Unknown class: securty\./);
    await editor.page.click('.rvm-chip-unknown button');
    await marked(FIELD, false);
    await saves('security');
  });

  it('are known, and picked, of the specification and of events that came', async () => {
    await seen('Fire');
    await open('fire, securty');
    await unknownIs('securty');
    await closeDialog(editor.page, 'cancel');
    await open('');
    await editor.page.locator(`.form-row:has(${FIELD}) .rvm-pick`).click();
    const items = editor.page.locator('.rvm-picker-item');
    await items.first().waitFor();
    const names = await editor.page.locator('.rvm-picker-name').allInnerTexts();
    assert.deepEqual(names, ['security', 'health', 'Fire']);
    await items.nth(1).click();
    await saves('health');
  });

  it('may be a variable in place of all of them, and are none beside others', async () => {
    await open('${CLASSES}');
    assert.equal(
      await editor.page.locator('#rvm-chips-classes .rvm-chip > span').first().innerText(),
      '${CLASSES}',
    );
    await marked(FIELD, false);
    await saves('${CLASSES}');
    await open('${CLASSES}, security');
    await marked(FIELD);
  });

  it('say where none is chosen that all but health count', async () => {
    await open('');
    assert.equal(await editor.page.getAttribute('#rvm-chip-entry-classes', 'placeholder'), 'all but health');
  });
});
