import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { choose, countTones, letIn, lineOf, openBoard } from '../../support/editor/alarm-board';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { boardFlow, postAlarm } from '../../support/examples/board';
import { packagesFor } from '../../support/examples/examples';
import { inboxesOpen } from '../../support/node-red/inboxes-open';
import { NodeRed } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';

describe('example 10, the board under the hand', () => {
  const errors: string[] = [];
  let browser: TestBrowser;
  let nodeRed: NodeRed;
  let page: Page;

  const alarm = (eventRuleName: string, locationName = 'Depot'): Promise<void> =>
    postAlarm(nodeRed, { eventRuleName, locationName });
  const heading = (): Promise<string> => page.locator('.rvm-alarm h2').innerText();
  const focused = (): Promise<string> =>
    page.evaluate(`document.activeElement.className + document.activeElement.placeholder`);

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([testBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
    await nodeRed.deploy(boardFlow());
    await inboxesOpen(nodeRed);
    page = await openBoard(browser, nodeRed, { errors });
    for (const name of ['First', 'Second', 'Third']) {
      await alarm(name);
      await lineOf(page, name).waitFor();
    }
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
  });

  it('follows the newest alarm while nobody has chosen one', async () => {
    assert.equal(await heading(), 'Third');
    await alarm('Fourth');
    await page.locator('.rvm-alarm h2', { hasText: 'Fourth' }).waitFor();
  });

  it('keeps the choice that was made by hand, and the page of its video', async () => {
    await choose(page, 'First');
    const frame = page.locator('.rvm-media iframe');
    const address = await frame.getAttribute('src');
    await alarm('Fifth');
    await page.locator('.rvm-more', { hasText: '1 new' }).waitFor();
    assert.equal(await heading(), 'First');
    assert.equal(await frame.getAttribute('src'), address);
    await letIn(page, 'Fifth');
    assert.equal(await heading(), 'First');
  });

  it('leaves the lines where they are under the pointer: new ones wait behind a count', async () => {
    await page.keyboard.press('Escape');
    await page.mouse.move(0, 0);
    await lineOf(page, 'Second').hover();
    const before = await lineOf(page, 'Second').boundingBox();
    for (const name of ['Sixth', 'Seventh', 'Eighth']) await alarm(name);
    await page.locator('.rvm-more', { hasText: '3 new: show' }).waitFor();
    assert.deepEqual(await lineOf(page, 'Second').boundingBox(), before);
    assert.equal(await lineOf(page, 'Sixth').count(), 0);
    await page.locator('.rvm-more').click();
    await lineOf(page, 'Eighth').waitFor();
  });

  it('lets new ones in by itself once the pointer has left', async () => {
    await lineOf(page, 'Second').hover();
    await alarm('Ninth');
    await page.locator('.rvm-more', { hasText: '1 new' }).waitFor();
    await page.mouse.move(0, 0);
    await page.keyboard.press('Escape');
    await lineOf(page, 'Ninth').waitFor();
  });

  it('leaves the buttons of the chosen alarm where they are', async () => {
    await choose(page, 'Second');
    await page.getByLabel('Operator').fill('Anna');
    const real = page.getByRole('button', { name: /^real/ });
    const before = await real.boundingBox();
    await page.getByRole('button', { name: /^claim/ }).click();
    await page.getByRole('button', { name: /^release/ }).waitFor();
    await alarm('Tenth');
    await page.locator('.rvm-more', { hasText: 'new' }).waitFor();
    assert.deepEqual(await real.boundingBox(), before);
    await page.keyboard.press('Escape');
  });

  it('leaves them there while a verdict can be taken back', async () => {
    await choose(page, 'First');
    await page.getByLabel('Operator').fill('Anna');
    const real = page.getByRole('button', { name: /^real/ });
    const before = await real.boundingBox();
    await real.click();
    const undo = page.locator('.rvm-undo', { hasText: /\d s/ });
    await undo.waitFor();
    assert.deepEqual(await real.boundingBox(), before);
    await undo.click();
    await page.keyboard.press('Escape');
  });

  it('is worked by the keyboard alone, with a visible focus', async () => {
    await page.mouse.move(0, 0);
    await page.keyboard.press('n');
    await page.keyboard.press('Home');
    const top = await heading();
    await page.keyboard.press('ArrowDown');
    assert.notEqual(await heading(), top);
    await page.keyboard.press('ArrowUp');
    assert.equal(await heading(), top);
    assert.notEqual(
      await page.locator('.rvm-list').evaluate((list) => getComputedStyle(list).outlineStyle),
      'none',
    );
    assert.equal(
      await page.locator('.rvm-list').getAttribute('aria-activedescendant'),
      await lineOf(page, top).getAttribute('id'),
    );
    await page.keyboard.press('Enter');
    assert.match(await focused(), /rvm-claim/);
    await page.keyboard.press('a');
    await lineOf(page, top).getByText('claimed by Anna').waitFor();
    await page.keyboard.press('c');
    assert.match(await focused(), /comment/);
    await page.keyboard.type('a r f');
    await page.keyboard.press('Enter');
    await page.locator('.rvm-trail', { hasText: 'Anna a r f' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('f');
    await lineOf(page, top).getByText('false alarm, Anna').waitFor();
    await page.keyboard.press('u');
    await lineOf(page, top).getByText('claimed by Anna').waitFor();
    await page.keyboard.press('/');
    assert.match(await focused(), /site, camera/);
    await page.keyboard.press('Tab');
  });

  it('does nothing on letters where these are switched off, in this browser for good', async () => {
    await page.getByRole('switch', { name: 'keys: on' }).click();
    await page.reload();
    await page.getByRole('switch', { name: 'keys: off' }).waitFor();
    await choose(page, 'Third');
    await page.keyboard.press('f');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    assert.equal(await lineOf(page, 'Third').getByText('false alarm').count(), 0);
    await page.getByRole('switch', { name: 'keys: off' }).click();
  });

  it('remembers in the browser who sits before it', async () => {
    assert.equal(await page.getByLabel('Operator').inputValue(), 'Anna');
  });

  it('shows the alarms of a site alone, and how many it has', async () => {
    await alarm('At the port', 'Port');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Port 1' }).click();
    await page.waitForFunction(`document.querySelectorAll('.rvm-list li').length === 1`);
    await lineOf(page, 'At the port').waitFor();
    await page.getByRole('button', { name: 'Port 1' }).click();
  });

  it('sounds for a new alarm, says that browsers wait for a first click, and can be switched off for good', async () => {
    const other = await openBoard(browser, nodeRed, { errors });
    const tones = await countTones(other);
    await lineOf(other, 'First').waitFor();
    await other.getByText('Browsers give no sound before the first click').waitFor();
    await other.locator('.rvm-count').click();
    await other.getByText('Browsers give no sound').waitFor({ state: 'hidden' });
    await alarm('Heard');
    await lineOf(other, 'Heard').waitFor();
    assert.equal(await tones(), 2);
    await other.getByRole('switch', { name: 'sound: on' }).click();
    await other.reload();
    await other.getByRole('switch', { name: 'sound: off' }).waitFor();
    await lineOf(other, 'Heard').waitFor();
    await other.locator('.rvm-count').click();
    await alarm('Silent');
    await lineOf(other, 'Silent').waitFor();
    assert.equal(await tones(), 0);
    await other.close();
  });

  it('runs without an error in the browser', () => {
    assert.deepEqual(errors, []);
  });
});
