import assert from 'node:assert/strict';
import type { Locator, Page, Response } from 'playwright-core';
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

  const row = (list: string, hasText?: string): Locator =>
    editor.page.locator(`.rvm-${list} .rvm-row`, { hasText });
  const answer = async (message: Record<string, unknown>, phrase?: string, path = PATH): Promise<number> =>
    (await post(editor.nodeRed.url + path, message, phrase)).status;
  async function discard(of: Locator): Promise<void> {
    await of.locator('[data-action="discard"]').click();
    await leaveRows(editor.page);
  }
  async function alarm(): Promise<string> {
    const message = alarmMessage();
    assert.equal(await answer(message, PHRASE), 200);
    return String((message.payload as Record<string, unknown>).cameraName);
  }

  it('shows the Central Stations with the state of their session', async () => {
    assert.match(await row('stations').innerText(), /North[^]*sandbox/);
  });

  it('shows the cameras of a station, those that are not online first', async () => {
    await editor.page.click('.rvm-stations summary');
    const cameras = editor.page.locator('.rvm-camera');
    await cameras.nth(23).waitFor();
    assert.match(await cameras.first().innerText(), /offline/);
    assert.match(await cameras.last().innerText(), /online/);
  });

  it('lets the pending site of the sandbox be accepted, whose cameras come to those that are shown', async () => {
    const pending = row('pending');
    assert.match(await pending.innerText(), /^SANDBOX .+\nSANDBOX .+ Ltd\n/);
    await pending.locator('[data-action="accept"]').click();
    await leaveRows(editor.page);
    await pending.waitFor({ state: 'detached' });
    assert.equal(await editor.page.getByText('Pending Requests').isVisible(), false);
    await editor.page.locator('.rvm-camera').nth(25).waitFor();
  });

  it('shows an alarm once the runtime has told that there is something, for which it asks twice at most', async () => {
    let questions = 0;
    const count = (request: { url: () => string }): void => {
      if (request.url().endsWith('/rvm/overview')) questions += 1;
    };
    const shown = row('events', await alarm()).first();
    editor.page.on('request', count);
    await soon(shown.waitFor(), 80);
    editor.page.off('request', count);
    assert.ok(questions <= 2, `${questions} questions`);
    assert.match(await shown.innerText(), /signed/);
    // The cameras that were open still are.
    await editor.page.locator('.rvm-camera').nth(23).waitFor();
  });

  it('says of a dead letter why it is one, and what to do', async () => {
    await row('dead').first().waitFor();
    const why = /An event was delivered as often as allowed and nothing settled it: act on it/;
    assert.match(await row('dead').first().innerText(), why);
  });

  it('delivers a dead letter again, or lets it go', async () => {
    const dead = row('dead').first();
    await dead.waitFor();
    const from = editor.nodeRed.seen.length;
    await dead.locator('[data-action="retry"]').click();
    await editor.nodeRed.until(() => editor.nodeRed.at('alarms', from).length > 0, 'the event once more');
    const isDead = () => editor.nodeRed.at('problems', from).some(({ topic }) => topic === 'dead-letter');
    await editor.nodeRed.until(isDead, 'the dead letter once more');
    // The row of the first dead letter may stand there until now.
    await nextLook(editor.page);
    await discard(dead);
    await dead.waitFor({ state: 'detached' });
  });

  nightlyIt('shows a conflict, which can only be let go', async () => {
    const message = alarmMessage({ cameraName: 'Camera of the copy' });
    const payload = { ...(message.payload as object), cameraName: 'Camera of another' };
    for (const each of [message, { ...message, payload }]) await answer(each, PHRASE);
    const copy = row('dead', 'Camera of another');
    await copy.waitFor();
    assert.match(await copy.innerText(), /conflict/);
    assert.equal(await copy.locator('[data-action="retry"]').count(), 0);
    for (const each of [copy, row('dead', 'Camera of the copy')]) {
      await discard(each);
      await each.waitFor({ state: 'detached' });
    }
  });

  nightlyIt(
    'shows what nothing proved, why, and what to do, checks it again with the current phrases, or lets it go',
    async () => {
      const forged = row('quarantine');
      assert.equal(await answer(alarmMessage(), 'another phrase'), 401);
      await forged.filter({ hasText: ': 1' }).waitFor();
      const told = /North[^]*its signature does not fit: enter the Shared Secret Phrase[^]*127\.0\.0\.1/;
      assert.match(await forged.innerText(), told);
      await forged.locator('[data-action="verify"]').click();
      await editor.page.getByText('and accepted: 0').waitFor();
      await discard(forged);
      await forged.waitFor({ state: 'detached' });
    },
  );

  it('shows after a restart of Node-RED what it showed before', async () => {
    const before = await row('events').allInnerTexts();
    await editor.page.close();
    const { userDir, port } = editor.nodeRed;
    await editor.nodeRed.stop();
    editor.nodeRed = await NodeRed.start({ version: editor.version, userDir, port });
    Object.assign(editor, await openEditor(editor.browser, editor.nodeRed));
    await showSidebar(editor.page);
    await row('events').first().waitFor();
    assert.deepEqual(await row('events').allInnerTexts(), before);
  });

  it('raises an alarm of the sandbox', async () => {
    const count = await row('events').count();
    await editor.page.click('.rvm-sandbox-alarm');
    await row('events').nth(count).waitFor();
    assert.match(await row('events').first().innerText(), /SANDBOX/);
  });

  it('shows the picture that was taken for an event', async () => {
    await row('events').locator('.rvm-thumbnail').first().waitFor();
    await editor.page.waitForFunction(`$('.rvm-thumbnail')[0].naturalWidth > 100`);
  });

  it('shows what was refused and could not be kept, until a message is proven', async () => {
    assert.equal(await answer(alarmMessage()), 401);
    const unsigned = row('quarantine', 'without a signature');
    await unsigned.waitFor();
    assert.match(await unsigned.innerText(), /North[^]*127\.0\.0\.1[^]*count: 1/);
    await alarm();
    await unsigned.waitFor({ state: 'detached' });
  });

  it('counts as seen where somebody looks: the status of webhook in tells of it no more', async () => {
    const statuses = (): string[] => editor.nodeRed.statuses('webhook');
    const isTold = (): boolean =>
      statuses().at(-1)?.includes('not proven') === true || statuses().at(-1) === 'status.notProven';
    await leaveRows(editor.page);
    await editor.page.evaluate(`RED.sidebar.show('info')`);
    assert.equal(await answer(alarmMessage()), 401);
    await editor.nodeRed.until(isTold, 'the status');
    // In a sidebar that is a few lines high it may lie out of sight: that is not seen.
    await editor.page.evaluate(`$('.rvm-sidebar').css({ height: '1px', overflow: 'hidden' })`);
    await showSidebar(editor.page);
    const unsigned = row('quarantine', 'without a signature');
    await unsigned.waitFor({ state: 'attached' });
    for (let look = 0; look < 2; look += 1) {
      const asked = editor.page.waitForResponse((response) => response.url().includes('rvm/overview'));
      assert.equal(await answer(alarmMessage()), 401);
      await asked;
    }
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
    await unsigned.waitFor();
    await alarm();
  });

  it('shows what is posted to a path that no webhook in has, with all that is strange escaped', async () => {
    const path = '/remote-monitoring/%3Cb%3E"';
    assert.equal(await answer(alarmMessage(), PHRASE, path), 404);
    await row('unknownPaths').waitFor();
    const told = /\/remote-monitoring\/%3Cb%3E%22[^]*no webhook in has[^]*127\.0\.0\.1 · port \d+ · count: 1/;
    assert.match(await row('unknownPaths').innerText(), told);
  });
});
