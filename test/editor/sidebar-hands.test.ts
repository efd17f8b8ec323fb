import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { busyInbox, EXHAUSTED, leaveRows, showSidebar } from '../support/editor/sidebar';
import { describeInEditor } from '../support/editor/in-editor';
import { PATH, PHRASE } from '../support/node-red/flows';
import { alarmMessage, post } from '../support/webhook/alarm-message';

describeInEditor('what needs hands, of which there is much', busyInbox(), (editor) => {
  const dead = (): Locator => editor.page.locator('.rvm-dead .rvm-row');
  const more = (): Locator => editor.page.locator('#rvm-heading-dead .rvm-more');
  const focused = (): Promise<string> =>
    editor.page.evaluate(`document.activeElement.id || document.activeElement.innerText`);

  /** More of them than the newest. */
  async function unfold(): Promise<void> {
    if ((await more().count()) > 0) await more().click();
    await dead().nth(60).waitFor();
  }

  before(async () => {
    await showSidebar(editor.page);
    const { url } = editor.nodeRed;
    assert.equal((await post(`${url}${PATH}`, alarmMessage(), 'another phrase')).status, 401);
    assert.equal((await post(`${url}/remote-monitoring/nowhere`, alarmMessage(), PHRASE)).status, 404);
    await editor.page.locator('#rvm-heading-unknownPaths').waitFor();
  });
  afterEach(() => leaveRows(editor.page));

  it('leaves the focus on the heading where the button has shown all', async () => {
    await editor.page.locator('#rvm-heading-pending .rvm-more').focus();
    await editor.page.keyboard.press('Enter');
    await editor.page.locator('.rvm-pending .rvm-row').waitFor();
    assert.equal(await focused(), 'rvm-heading-pending');
  });

  it('leaves the focus on the button that has shown more, wherever that stands then', async () => {
    await more().focus();
    await editor.page.keyboard.press('Enter');
    await dead().nth(60).waitFor();
    assert.equal(await more().count(), 0);
    assert.equal(await focused(), 'Show more');
  });

  it('delivers nothing again that somebody has just discarded and may have back', async () => {
    await unfold();
    const row = dead()
      .filter({ has: editor.page.locator('[data-action="retry"]') })
      .first();
    const name = await row.locator('[data-action="discard"]').getAttribute('aria-label');
    await row.locator('[data-action="discard"]').click();
    const undo = editor.page.getByLabel((name ?? '').replace('Discard', 'Undo'), { exact: true });
    await undo.waitFor();
    await editor.page.locator('[data-action="retry-all"]').click();
    const question = editor.page.locator('.red-ui-notification');
    await question.filter({ hasText: `Deliver dead letters again (${EXHAUSTED - 1})?` }).waitFor();
    await editor.page.locator('.rvm-ask-no').click();
    await undo.click();
    await question.waitFor({ state: 'detached' });
  });

  it('asks for no more than it shows once a list is folded', async () => {
    await unfold();
    const button = editor.page.locator('.rvm-dead + .rvm-more');
    while ((await button.innerText()) === 'Show more') await button.click();
    await button.click();
    await dead().nth(9).waitFor({ state: 'detached' });
    const asked: string[] = [];
    editor.page.on('request', (request) => asked.push(request.url()));
    // All that is listed is asked for once more after it.
    await editor.page.locator('.rvm-sandbox-alarm').click();
    await editor.page.getByText('The sandbox has raised an alarm.').waitFor();
    for (let look = 0; look < 2; look += 1) await editor.page.waitForResponse(/\/rvm\/overview$/);
    assert.deepEqual(
      asked.filter((url) => url.includes('/rvm/events')),
      [],
    );
  });
});
