import assert from 'node:assert/strict';
import { closeDialog } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { webhookFlow } from '../../support/node-red/flows';

const INSIDE = '#node-config-input-versionLow';
const SUMMARY = `.rvm-fold:has(${INSIDE}) >> summary`;

describeInEditor('the folded details of a cloud', { flow: () => webhookFlow() }, (editor) => {
  const isOpen = async (): Promise<boolean | undefined> => (await editor.visible(INSIDE))[0];

  it('stay folded where all of them are what a new cloud has', async () => {
    await editor.open('cloud');
    assert.deepEqual(await editor.visible(SUMMARY, INSIDE), [true, false]);
  });

  it('open and close by the keyboard alone', async () => {
    await editor.open('cloud');
    await editor.page.evaluate(`$('.rvm-fold').prop('open', false)`);
    await editor.page.locator('.rvm-fold > summary').first().focus();
    await editor.page.keyboard.press('Tab');
    await editor.page.keyboard.press('Enter');
    assert.equal(await isOpen(), true);
    await editor.page.keyboard.press('Space');
    assert.equal(await isOpen(), false);
  });

  for (const [what, name, value] of [
    ['a text', 'relHome', 'rel/go_home'],
    ['a choice', 'liveStyle', 'live'],
    ['a tick', 'appendZ', true],
    ['a stored credential', 'credentials', { has_loginExtra: true }],
  ] as const)
    it(`are open where ${what} among them is not the default`, async () => {
      const [before] = await editor.valuesOf('cloud', name);
      await editor.assign('cloud', { [name]: value });
      await editor.open('cloud');
      assert.equal(await isOpen(), true);
      await closeDialog(editor.page, 'cancel');
      await editor.page.evaluate(`void (RED.nodes.node('cloud').${name} = ${JSON.stringify(before)})`);
    });

  it('open as soon as one of them is red', async () => {
    await editor.open('cloud');
    assert.equal(await isOpen(), false);
    await editor.page.evaluate(`$('${INSIDE}').val('one').trigger('change')`);
    await editor.page.locator(INSIDE).waitFor({ state: 'visible' });
  });

  it('call the fields of the login so that nobody enters a user name there', async () => {
    await editor.open('cloud');
    await editor.page.locator(SUMMARY).click();
    const label = editor.page.locator('label[for="node-config-input-loginUserField"]');
    assert.equal(await label.innerText(), 'Login sends user as');
    const field = editor.page.locator('#node-config-input-loginUserField');
    assert.equal(await field.getAttribute('placeholder'), 'username');
    assert.match((await field.getAttribute('title')) ?? '', /belong in the Central Station/);
  });
});
