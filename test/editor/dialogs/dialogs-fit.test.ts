import assert from 'node:assert/strict';
import { closeDialog, definitionOf } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { typesOfPackage, watched, type FlowNode } from '../../support/node-red/node-red';

/** What a node of a type holds that was just added: of most the id is the type. */
function added(type: string, changes: object = {}): FlowNode {
  const { defaults, paletteLabel } = definitionOf(type);
  const values = Object.fromEntries(Object.entries(defaults).map(([name, { value }]) => [name, value]));
  const place = paletteLabel === undefined ? {} : { z: 'tab', x: 0, y: 0, wires: [] };
  return { id: type, type, ...values, ...place, ...changes };
}

/** Just added, and as they are in use. */
function flow(): FlowNode[] {
  const service = { id: 'service', url: 'https://api.example.com', credentials: { apiKey: 'key' } };
  const own = { id: 'own', cloud: 'service', scheme: 'https' };
  const alarms = { id: 'alarms', station: 'own', path: '/alarms', handledWhen: 'settled' };
  return watched(
    ...typesOfPackage().map((type) => added(type)),
    added('rvm-cloud', service),
    added('rvm-central-station', own),
    added('rvm-webhook-in', alarms),
  );
}

/** Names of the elements around the form that one would have to scroll. */
const SCROLLED = `(() => {
  const body = $('.red-ui-tray').last().find('.red-ui-tray-body');
  return body.find('.rvm-form').parentsUntil('.red-ui-tray').toArray()
    .filter((element) => element.scrollHeight > element.clientHeight + 1)
    .filter((element) => /auto|scroll/.test(getComputedStyle(element).overflowY))
    .map((element) => element.className + ': ' + element.scrollHeight + ' in ' + element.clientHeight);
})()`;

describeInEditor('on a screen of 1366 by 768', { flow }, (editor) => {
  before(async () => editor.page?.setViewportSize({ width: 1366, height: 768 }));

  for (const id of ['service', 'own', 'alarms', ...typesOfPackage()]) {
    it(`the dialog of ${id} is seen whole`, async () => {
      await editor.open(id);
      assert.deepEqual(await editor.page.evaluate(SCROLLED), []);
      await closeDialog(editor.page, 'cancel');
    });
  }

  it('a tip is put away behind a button that opens it, by keyboard as well', async () => {
    await editor.open('alarms');
    const button = editor.page.locator('.form-row:has(#rvm-webhook-url) .rvm-help');
    const tip = editor.page.locator('.form-tips', { hasText: 'Enter this address in the Central Station' });
    assert.equal(await tip.isVisible(), false);
    await button.focus();
    await editor.page.keyboard.press('Enter');
    assert.ok(await tip.isVisible());
    assert.equal(await button.getAttribute('aria-expanded'), 'true');
    await button.click();
    assert.equal(await tip.isVisible(), false);
  });

  it('a tip stays away where its row comes with a choice', async () => {
    await editor.open('rvm-cloud');
    const tip = editor.page.locator('.form-tips', { hasText: 'https_proxy' });
    assert.equal(await tip.isVisible(), false);
    // That the key is missing now is said below it, which moves all that is lower.
    await editor.enter('#node-config-input-url', 'https://api.example.com');
    await editor.reason('#node-config-input-apiKey').waitFor();
    assert.equal(await tip.isVisible(), false);
    await editor.page.locator('.form-row:has(#node-config-input-proxy) .rvm-help').click();
    assert.ok(await tip.isVisible());
  });
});
