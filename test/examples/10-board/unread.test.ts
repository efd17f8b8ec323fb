import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { choose, lineOf } from '../../support/editor/alarm-board';
import { boardFlow, describeBoard, postAlarm } from '../../support/examples/board';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import type { FlowNode } from '../../support/node-red/node-red';

const SECOND = '/remote-monitoring/example-10-second';

/** The board, with a second webhook in whose inbox is in a folder of its own. */
function flow(folder: string): FlowNode[] {
  const nodes = boardFlow({ undoSeconds: 1 });
  const [webhook] = nodes.filter(({ type }) => type === 'rvm-webhook-in');
  const second = { ...webhook, id: 'second', type: 'rvm-webhook-in', path: SECOND, inbox: 'inbox', y: 600 };
  return [...nodes, second, { id: 'inbox', type: 'rvm-inbox', name: '', folder }];
}

describeBoard('where an inbox cannot be read', {}, (board) => {
  /** A folder in the way of the file of an inbox. */
  function block(folder: string): string {
    const obstacle = path.join(board.nodeRed.userDir, folder, 'inbox.sqlite');
    fs.mkdirSync(obstacle, { recursive: true });
    return obstacle;
  }
  const fault = (text: string): Locator => board.page.locator('.rvm-warning', { hasText: text });
  const count = (text: string): Promise<void> =>
    board.page.locator('.rvm-count', { hasText: text }).waitFor();

  it('says so before there was any list, and not that no alarm is open', async () => {
    block('remote-monitoring');
    await board.nodeRed.deploy(boardFlow());
    await board.nodeRed.logged(/cannot store/);
    board.page = await board.open('Anna');
    await fault('The inbox cannot be read (STORE_FAILED)').waitFor();
    await count('No list yet');
    assert.equal(await board.page.getByText('No open alarm').count(), 0);
  });

  it('says no more of it once it can, and that no alarm is open', async () => {
    fs.rmdirSync(block('remote-monitoring'));
    await board.page.getByText('No open alarm').waitFor();
    await fault('cannot be read').waitFor({ state: 'hidden' });
  });

  it('keeps the alarms of one that cannot be read among others, and says so', async () => {
    await board.nodeRed.deploy(flow('second'));
    await inboxesOpen(board.nodeRed);
    await board.page.close();
    board.page = await board.open('Anna');
    await postAlarm(board.nodeRed, { eventRuleName: 'Fence', alarmId: 'fence' }, SECOND);
    await postAlarm(board.nodeRed, { eventRuleName: 'Gate', alarmId: 'gate' });
    await count('2 open');
    block('broken');
    await board.nodeRed.deploy(flow('broken'), 'nodes');
    await fault('Not all alarms can be read').waitFor();
    await count('2 open');
  });

  it('keeps none that is settled meanwhile', async () => {
    await choose(board.page, 'Gate');
    await board.page.keyboard.press('f');
    await count('1 open');
    await lineOf(board.page, 'Fence').waitFor();
  });

  it('shows what there is once all can be read', async () => {
    await board.nodeRed.deploy(flow('second'), 'nodes');
    await fault('Not all alarms can be read').waitFor({ state: 'hidden' });
    await count('1 open');
    await lineOf(board.page, 'Fence').waitFor();
  });
});
