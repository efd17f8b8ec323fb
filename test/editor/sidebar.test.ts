import assert from 'node:assert/strict';
import type { Page, Response } from 'playwright-core';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { openEditor } from '../support/editor/browser';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { describeInEditor } from '../support/editor/in-editor';
import { leaveRows, showSidebar } from '../support/editor/sidebar';
import { NodeRed, type FlowNode } from '../support/node-red/node-red';
import { nightlyIt } from '../support/suite/lanes';
import { soon } from '../support/time/patience';

/** Events have one attempt, and nothing settles them by itself. */
function flow(): FlowNode[] {
  const wires = [['alarms', 'snapshot'], ['health'], ['problems']];
  const webhook = { handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1, wires };
  const snapshot = { id: 'snapshot', type: 'rvm-snapshot', z: 'tab', x: 0, y: 0, wires: [[], []] };
  const settle = { id: 'settle', type: 'rvm-settle', z: 'tab', x: 0, y: 0, wires: [[], []] };
  const cloud = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
  return webhookFlow({ webhook, cloud, station: { credentials: { secret: PHRASE } } }, settle, snapshot);
}

/** Ends when the sidebar has asked once more for what there is. */
async function nextLook(page: Page): Promise<void> {
  const request = await page.waitForRequest((each) => each.url().endsWith('/rvm/overview'));
  await (await request.response())?.finished();
}

describeInEditor('the sidebar "Remote monitoring"', { flow }, (editor) => {
  before(() => showSidebar(editor.page));

  async function alarm(): Promise<Record<string, unknown>> {
    const message = alarmMessage();
    assert.equal((await post(`${editor.nodeRed.url}${PATH}`, message, PHRASE)).status, 200);
    return message.payload as Record<string, unknown>;
  }

  it('shows the Central Stations with the state of their session', async () => {
    const row = editor.page.locator('.rvm-stations .rvm-row');
    assert.match(await row.innerText(), /North[^]*sandbox/);
  });

  it('shows the cameras of a station, those that are not online first', async () => {
    await editor.page.click('.rvm-stations summary');
    const cameras = editor.page.locator('.rvm-camera');
    await cameras.nth(23).waitFor();
    assert.match(await cameras.first().innerText(), /offline/);
    assert.match(await cameras.last().innerText(), /online/);
  });

  it('lets the pending site of the sandbox be accepted, whose cameras come to those that are shown', async () => {
    const row = editor.page.locator('.rvm-pending .rvm-row');
    assert.match(await row.innerText(), /^SANDBOX .+\nSANDBOX .+ Ltd\n/);
    await row.locator('[data-action="accept"]').click();
    await leaveRows(editor.page);
    await row.waitFor({ state: 'detached' });
    assert.equal(await editor.page.getByText('Pending Requests').isVisible(), false);
    await editor.page.locator('.rvm-camera').nth(25).waitFor();
  });

  it('shows an alarm with one of its next two questions, which come every two seconds at least', async () => {
    let questions = 0;
    const count = (request: { url: () => string }): void => {
      if (request.url().endsWith('/rvm/overview')) questions += 1;
    };
    const { cameraName } = await alarm();
    editor.page.on('request', count);
    const row = editor.page.locator('.rvm-events .rvm-row').filter({ hasText: String(cameraName) });
    await soon(row.first().waitFor(), 80);
    editor.page.off('request', count);
    assert.ok(questions <= 2, `${questions} questions`);
    assert.match(await row.first().innerText(), /signed/);
    // The cameras that were open still are.
    await editor.page.locator('.rvm-camera').nth(23).waitFor();
  });

  it('says of a dead letter why it is one, and what to do', async () => {
    const row = editor.page.locator('.rvm-dead .rvm-row').first();
    await row.waitFor();
    assert.match(
      await row.innerText(),
      /An event was delivered as often as allowed and nothing settled it: act on it/,
    );
  });

  it('delivers a dead letter again, or lets it go', async () => {
    const row = editor.page.locator('.rvm-dead .rvm-row').first();
    await row.waitFor();
    const from = editor.nodeRed.seen.length;
    await row.locator('[data-action="retry"]').click();
    await editor.nodeRed.until(() => editor.nodeRed.at('alarms', from).length > 0, 'the event once more');
    const isDead = () => editor.nodeRed.at('problems', from).some(({ topic }) => topic === 'dead-letter');
    await editor.nodeRed.until(isDead, 'the dead letter once more');
    // The row of the first dead letter may stand there until now.
    await nextLook(editor.page);
    await row.locator('[data-action="discard"]').click();
    await leaveRows(editor.page);
    await editor.page.waitForSelector('.rvm-dead .rvm-row', { state: 'detached' });
  });

  nightlyIt('shows a conflict, which can only be let go', async () => {
    const message = alarmMessage({ cameraName: 'Camera of the copy' });
    const other = {
      ...message,
      payload: { ...(message.payload as object), cameraName: 'Camera of another' },
    };
    for (const each of [message, other]) await post(`${editor.nodeRed.url}${PATH}`, each, PHRASE);
    const row = editor.page.locator('.rvm-dead .rvm-row').filter({ hasText: 'Camera of another' });
    await row.waitFor();
    assert.match(await row.innerText(), /conflict/);
    assert.equal(await row.locator('[data-action="retry"]').count(), 0);
    await row.locator('[data-action="discard"]').click();
    await leaveRows(editor.page);
    const first = editor.page.locator('.rvm-dead .rvm-row').filter({ hasText: 'Camera of the copy' });
    await first.locator('[data-action="discard"]').click();
    await leaveRows(editor.page);
    for (const each of [row, first]) await each.waitFor({ state: 'detached' });
  });

  nightlyIt(
    'shows what nothing proved, why, and what to do, checks it again with the current phrases, or lets it go',
    async () => {
      const forged = () => post(`${editor.nodeRed.url}${PATH}`, alarmMessage(), 'another phrase');
      const row = editor.page.locator('.rvm-quarantine .rvm-row');
      assert.equal((await forged()).status, 401);
      await row.filter({ hasText: ': 1' }).waitFor();
      assert.match(
        await row.innerText(),
        /North[^]*its signature does not fit: enter the Shared Secret Phrase[^]*127\.0\.0\.1/,
      );
      await row.locator('[data-action="verify"]').click();
      await editor.page.getByText('and accepted: 0').waitFor();
      await row.locator('[data-action="discard"]').click();
      await leaveRows(editor.page);
      await row.waitFor({ state: 'detached' });
    },
  );

  it('shows after a restart of Node-RED what it showed before', async () => {
    const texts = (): Promise<string[]> => editor.page.locator('.rvm-events .rvm-row').allInnerTexts();
    const before = await texts();
    await editor.page.close();
    const { userDir, port } = editor.nodeRed;
    await editor.nodeRed.stop();
    editor.nodeRed = await NodeRed.start({ version: editor.version, userDir, port });
    Object.assign(editor, await openEditor(editor.browser, editor.nodeRed));
    await showSidebar(editor.page);
    await editor.page.waitForSelector('.rvm-events .rvm-row');
    assert.deepEqual(await texts(), before);
  });

  it('raises an alarm of the sandbox', async () => {
    const count = await editor.page.locator('.rvm-events .rvm-row').count();
    await editor.page.click('.rvm-sandbox-alarm');
    await editor.page.waitForFunction(`$('.rvm-events .rvm-row').length > ${count}`);
    assert.match(await editor.page.locator('.rvm-events .rvm-row').first().innerText(), /SANDBOX/);
  });

  it('shows the picture that was taken for an event', async () => {
    const picture = editor.page.locator('.rvm-events .rvm-row .rvm-thumbnail').first();
    await picture.waitFor();
    await editor.page.waitForFunction(`$('.rvm-thumbnail')[0].naturalWidth > 100`);
  });

  it('shows what was refused and could not be kept, until a message is proven', async () => {
    assert.equal((await post(`${editor.nodeRed.url}${PATH}`, alarmMessage())).status, 401);
    const row = editor.page.locator('.rvm-quarantine .rvm-row').filter({ hasText: 'without a signature' });
    await row.waitFor();
    assert.match(await row.innerText(), /North[^]*127\.0\.0\.1[^]*count: 1/);
    await alarm();
    await row.waitFor({ state: 'detached' });
  });

  it('counts as seen where somebody looks: the status of webhook in tells of it no more', async () => {
    const statuses = (): string[] => editor.nodeRed.statuses('webhook');
    const isTold = (): boolean =>
      statuses().at(-1)?.includes('not proven') === true || statuses().at(-1) === 'status.notProven';
    await leaveRows(editor.page);
    await editor.page.evaluate(`RED.sidebar.show('info')`);
    assert.equal((await post(`${editor.nodeRed.url}${PATH}`, alarmMessage())).status, 401);
    await editor.nodeRed.until(isTold, 'the status');
    // In a sidebar that is a few lines high it may lie out of sight: that is not seen.
    await editor.page.evaluate(`$('.rvm-sidebar').css({ height: '1px', overflow: 'hidden' })`);
    await showSidebar(editor.page);
    const row = editor.page.locator('.rvm-quarantine .rvm-row').filter({ hasText: 'without a signature' });
    await row.waitFor({ state: 'attached' });
    for (let look = 0; look < 2; look += 1)
      await editor.page.waitForResponse((response) => response.url().includes('rvm/overview'));
    assert.ok(isTold());
    let looks = 0;
    const count = (response: Response): void => {
      if (response.url().endsWith('/rvm/overview')) looks += 1;
    };
    editor.page.on('response', count);
    const told = editor.page.waitForRequest((request) => request.url().endsWith('/rvm/problems-seen'));
    await editor.page.evaluate(`$('.rvm-sidebar').css({ height: '', overflow: '' })`);
    await told;
    editor.page.off('response', count);
    assert.ok(looks <= 3, `${looks} looks`);
    await editor.nodeRed.until(() => !isTold(), 'the end of it');
    await row.waitFor();
    await alarm();
  });

  it('shows what is posted to a path that no webhook in has, with all that is strange escaped', async () => {
    const path = '/remote-monitoring/%3Cb%3E"';
    assert.equal((await post(`${editor.nodeRed.url}${path}`, alarmMessage(), PHRASE)).status, 404);
    const row = editor.page.locator('.rvm-unknownPaths .rvm-row');
    await row.waitFor();
    assert.match(
      await row.innerText(),
      /\/remote-monitoring\/%3Cb%3E%22[^]*no webhook in has[^]*127\.0\.0\.1 · port \d+ · count: 1/,
    );
  });
});
