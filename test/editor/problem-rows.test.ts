import assert from 'node:assert/strict';
import { describeInEditor } from '../support/editor/in-editor';
import { showSidebar } from '../support/editor/sidebar';
import { PATH, webhookFlow, webhookIn } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import { alarmMessage, post } from '../support/webhook/alarm-message';

const OTHER = '/remote-monitoring/other';

/** Two *webhook in* of one Central Station, by which people know both. */
function flow(): FlowNode[] {
  return webhookFlow({}, webhookIn({ id: 'other', path: OTHER, wires: [[], [], []] }));
}

describeInEditor('what went wrong at several webhook in of one title', { flow }, (editor) => {
  it('has a row for each, as many as are counted', async () => {
    await showSidebar(editor.page);
    for (const path of [PATH, OTHER])
      assert.equal((await post(`${editor.nodeRed.url}${path}`, alarmMessage())).status, 401);
    const rows = editor.page.locator('.rvm-quarantine .rvm-row').filter({ hasText: 'without a signature' });
    await editor.page.locator('#rvm-heading-quarantine').filter({ hasText: /2$/ }).waitFor();
    assert.equal(await rows.count(), 2);
    for (const text of await rows.allInnerTexts()) assert.match(text, /^North\n/);
  });
});
