import assert from 'node:assert/strict';
import type { Locator, Route } from 'playwright-core';
import { loadEditor } from '../support/editor/browser';
import { busyInbox, ODD_CAMERA, leaveRows, rowOf, send, showSidebar } from '../support/editor/sidebar';
import { describeInEditor } from '../support/editor/in-editor';
import { PATH } from '../support/node-red/flows';

describeInEditor('the sidebar while somebody points at its rows', busyInbox(), (editor) => {
  const events = (): Locator => editor.page.locator('.rvm-events .rvm-row');
  const filter = (): Locator => editor.page.locator('.rvm-filter');

  /** Lets no such question through. @returns what frees the way */
  async function holdUp(url: RegExp): Promise<() => void> {
    let free = (): void => undefined;
    const isFree = new Promise<void>((resolve) => (free = resolve));
    const hold = async (route: Route): Promise<void> => {
      await isFree;
      await route.continue();
    };
    await editor.page.route(url, hold);
    // It stays, and lets all pass: to take it away would answer for what is on its way through it.
    return free;
  }

  it('is drawn for the first time all the same', async () => {
    await loadEditor(editor.page, editor.nodeRed);
    const free = await holdUp(/\/rvm\/overview/);
    await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
    await editor.page.locator('.rvm-body').hover();
    free();
    await events().first().waitFor();
    assert.ok(await editor.page.locator('.rvm-body').evaluate((body) => body.matches(':hover')));
  });

  it('shows what matches alone, also where the list was told before the rest', async () => {
    await leaveRows(editor.page);
    await showSidebar(editor.page);
    await events().first().hover();
    const free = await holdUp(/\/rvm\/overview\?search=/);
    const found = editor.page.waitForResponse((response) => /rvm\/events\?state=all/.test(response.url()));
    await filter().fill(ODD_CAMERA);
    await (await found).finished();
    free();
    await editor.page.getByText('Matching: 1 of 5,000', { exact: true }).waitFor();
    assert.equal(await events().count(), 1);
    assert.match(await events().innerText(), new RegExp(ODD_CAMERA));
    await filter().press('Escape');
    await events().nth(9).waitFor();
  });

  it('asks for other words at once, although it was asking already', async () => {
    await showSidebar(editor.page);
    const free = await holdUp(/\/rvm\/overview$/);
    const asking = editor.page.waitForRequest(/\/rvm\/overview$/);
    await send(editor, PATH);
    await asking;
    // Nothing else has it ask then.
    await editor.page.evaluate(`for (let id = setInterval(() => 0, 1e9); id > 0; id -= 1) clearInterval(id)`);
    await filter().fill(ODD_CAMERA);
    await filter().press('Enter');
    const asked = editor.page.waitForRequest(/\/rvm\/overview\?search=/);
    free();
    await asked;
  });

  it('asks by itself, though seldom, where nothing comes through of what the runtime tells', async () => {
    await editor.page.routeWebSocket(/\/comms$/, () => undefined);
    await loadEditor(editor.page, editor.nodeRed);
    await showSidebar(editor.page);
    await send(editor, PATH, { cameraName: 'Quiet gate' });
    await rowOf(editor, 'events', 'Quiet gate').waitFor();
  });
});
