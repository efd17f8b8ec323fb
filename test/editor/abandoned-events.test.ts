import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { describeInEditor } from '../support/editor/in-editor';
import { leaveRows, send, showSidebar } from '../support/editor/sidebar';
import { PATH, webhookFlow, webhookIn } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';

const GONE = '/remote-monitoring/gone';
const SETTLED = { handledWhen: 'settled', redeliverAfter: 600 };
const settle = { id: 'settle', type: 'rvm-settle', z: 'tab', x: 0, y: 0, wires: [[], []] };

function flow(...further: FlowNode[]): FlowNode[] {
  const park = { id: 'another', name: 'Car park', path: '/remote-monitoring/car-park', wires: [] };
  return webhookFlow({ webhook: { ...SETTLED, name: 'Night desk' } }, webhookIn(park), settle, ...further);
}

/** Whose events nobody settles. */
const gone = webhookIn({ id: 'gone', path: GONE, ...SETTLED });

describeInEditor('events that wait for a webhook in that is gone', { flow }, (editor) => {
  const row = (): Locator => editor.page.locator('.rvm-abandoned .rvm-row');
  const choice = (): Locator => row().getByLabel('The webhook in whose flow gets them');
  const heading = (): Locator => editor.page.getByText('Events without a webhook in');

  before(async () => {
    await editor.nodeRed.deploy(flow(gone));
    const from = editor.nodeRed.seen.length;
    for (let count = 0; count < 2; count += 1) await send(editor, GONE);
    await editor.nodeRed.until(() => editor.nodeRed.at('alarms', from).length === 2, 'the events');
    await showSidebar(editor.page);
  });

  it('are not told of while it is there', async () => {
    assert.equal(await heading().isVisible(), false);
  });

  it('are shown with their number and their path, in a narrow sidebar, too', async () => {
    await editor.nodeRed.deploy(flow());
    await row().waitFor();
    assert.ok(await heading().isVisible());
    assert.match(await row().innerText(), new RegExp(`^${GONE}\nWaiting events: 2\\.`));
    assert.equal(await editor.isCutAt(180), false);
  });

  it('can be given to those that use their inbox, whose choice stands while events come in', async () => {
    const offered = await choice().locator('option').allInnerTexts();
    assert.deepEqual(offered.toSorted(), ['Car park', 'Night desk']);
    await choice().focus();
    await choice().selectOption(`:${PATH}`);
    const count = await editor.page.locator('.rvm-events .rvm-row').count();
    await send(editor, PATH);
    await editor.page.locator('.rvm-new').click();
    await editor.page.waitForFunction(`$('.rvm-events .rvm-row').length > ${count}`);
    assert.equal(await choice().inputValue(), `:${PATH}`);
  });

  it('come to the flow that was chosen, with the keyboard alone, and are not shown any more', async () => {
    const from = editor.nodeRed.seen.length;
    await choice().focus();
    await editor.page.keyboard.press('Tab');
    await editor.page.keyboard.press('Enter');
    await editor.page.getByText('Assigned events: 2').waitFor();
    await editor.nodeRed.until(() => editor.nodeRed.at('alarms', from).length === 2, 'the events');
    await leaveRows(editor.page);
    await row().waitFor({ state: 'hidden' });
    assert.equal(await heading().isVisible(), false);
  });
});
