import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { PATH, webhookFlow } from '../support/node-red/flows';
import { describeInEditor } from '../support/editor/in-editor';
import { leaveRows, rowOf, send } from '../support/editor/sidebar';
import type { FlowNode } from '../support/node-red/node-red';
import { temporaryFolder } from '../support/suite/temporary-folder';

/** Its inbox cannot be opened; events have one attempt, and nothing settles them by itself. */
function flow(): FlowNode[] {
  const folder = temporaryFolder();
  fs.mkdirSync(path.join(folder, 'inbox.sqlite'));
  const webhook = { inbox: 'inbox', handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 };
  const settle = { id: 'settle', type: 'rvm-settle', z: 'tab', x: 0, y: 0, wires: [[], []] };
  return webhookFlow({ webhook }, { id: 'inbox', type: 'rvm-inbox', name: '', folder }, settle);
}

describeInEditor('the sidebar of a Node-RED whose inbox is broken', { flow }, (editor) => {
  const events = () => editor.page.locator('.rvm-events');

  it('says why, and that what the inbox holds is missing, where nothing has come yet', async () => {
    await editor.nodeRed.logged(/cannot store/);
    await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
    await events().getByText('What the inbox holds is listed again once it can be read.').waitFor();
    assert.equal(await events().getByText('None yet').count(), 0);
    assert.match(await editor.page.locator('.rvm-fault').innerText(), /cannot be opened or made/);
  });

  it('shows the alarms that come, and delivers their dead letters again, or lets them go', async () => {
    await send(editor, PATH, { cameraName: 'Camera at night' });
    await rowOf(editor, 'events', 'Camera at night').waitFor();
    const dead = rowOf(editor, 'dead', 'Camera at night');
    await dead.waitFor();
    const from = editor.nodeRed.seen.length;
    await dead.locator('[data-action="retry"]').click();
    await editor.nodeRed.until(() => editor.nodeRed.at('alarms', from).length > 0, 'the event once more');
    const isDead = () => editor.nodeRed.at('problems', from).some(({ topic }) => topic === 'dead-letter');
    await editor.nodeRed.until(isDead, 'the dead letter once more');
    await dead.locator('[data-action="discard"]').click();
    await leaveRows(editor.page);
    await dead.waitFor({ state: 'detached' });
    assert.match(await events().innerText(), /Camera at night[^]*dead letter[^]*is listed again/);
  });

  it('counts among its events those that the inbox could not take, and says that there may be others', async () => {
    await editor.page.locator('.rvm-chip[data-part="events"]', { hasText: /Events\s*1\+/ }).waitFor();
    assert.match(await editor.page.locator('#rvm-heading-events').innerText(), /^Events 1\+/);
  });

  it('keeps in sight why, however far it is scrolled', async () => {
    const [top, place] = (await editor.page.evaluate(`(() => {
      const sidebar = $('.rvm-sidebar')[0];
      sidebar.scrollTop = 1e6;
      return [$('.rvm-fault')[0], sidebar].map((each) => each.getBoundingClientRect().top);
    })()`)) as [number, number];
    assert.ok(top >= place, `${top} above ${place}`);
  });

  it('shows the last line in full, however low it is', async () => {
    const bottoms = await editor.page.evaluate(`(() => {
      const sidebar = $('.rvm-sidebar')[0];
      sidebar.scrollTop = 1e6;
      const last = $('.rvm-events').children().last()[0];
      return [last, sidebar.parentElement].map((each) => each.getBoundingClientRect().bottom);
    })()`);
    const [line, place] = bottoms as [number, number];
    assert.ok(line <= place, `${line} below ${place}`);
  });
});
