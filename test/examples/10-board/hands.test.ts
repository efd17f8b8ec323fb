import assert from 'node:assert/strict';
import { choose, countTones, letIn, lineOf } from '../../support/editor/alarm-board';
import { boardFlow, describeBoard, postAlarm } from '../../support/examples/board';

describeBoard('the board under the hand', { flow: boardFlow() }, (board) => {
  const alarm = (eventRuleName: string, locationName = 'Depot'): Promise<void> =>
    postAlarm(board.nodeRed, { eventRuleName, locationName });
  const heading = (): Promise<string> => board.page.locator('.rvm-alarm h2').innerText();
  const focused = (): Promise<string> =>
    board.page.evaluate(`document.activeElement.className + document.activeElement.placeholder`);

  before(async () => {
    for (const name of ['First', 'Second', 'Third']) {
      await alarm(name);
      await lineOf(board.page, name).waitFor();
    }
  });

  it('follows the newest alarm while nobody has chosen one', async () => {
    assert.equal(await heading(), 'Third');
    await alarm('Fourth');
    await board.page.locator('.rvm-alarm h2', { hasText: 'Fourth' }).waitFor();
  });

  it('keeps the choice that was made by hand, and the page of its video', async () => {
    await choose(board.page, 'First');
    const frame = board.page.locator('.rvm-media iframe');
    const address = await frame.getAttribute('src');
    await alarm('Fifth');
    await board.page.locator('.rvm-more', { hasText: '1 new' }).waitFor();
    assert.equal(await heading(), 'First');
    assert.equal(await frame.getAttribute('src'), address);
    await letIn(board.page, 'Fifth');
    assert.equal(await heading(), 'First');
  });

  it('leaves the lines where they are under the pointer: new ones wait behind a count', async () => {
    await board.page.keyboard.press('Escape');
    await board.page.mouse.move(0, 0);
    await lineOf(board.page, 'Second').hover();
    const before = await lineOf(board.page, 'Second').boundingBox();
    for (const name of ['Sixth', 'Seventh', 'Eighth']) await alarm(name);
    await board.page.locator('.rvm-more', { hasText: '3 new: show' }).waitFor();
    assert.deepEqual(await lineOf(board.page, 'Second').boundingBox(), before);
    assert.equal(await lineOf(board.page, 'Sixth').count(), 0);
    await board.page.locator('.rvm-more').click();
    await lineOf(board.page, 'Eighth').waitFor();
  });

  it('lets new ones in by itself once the pointer has left', async () => {
    await lineOf(board.page, 'Second').hover();
    await alarm('Ninth');
    await board.page.locator('.rvm-more', { hasText: '1 new' }).waitFor();
    await board.page.mouse.move(0, 0);
    await board.page.keyboard.press('Escape');
    await lineOf(board.page, 'Ninth').waitFor();
  });

  it('leaves the buttons of the chosen alarm where they are', async () => {
    await choose(board.page, 'Second');
    await board.page.getByLabel('Operator').fill('Anna');
    const real = board.page.getByRole('button', { name: /^real/ });
    const before = await real.boundingBox();
    await board.page.getByRole('button', { name: /^claim/ }).click();
    await board.page.getByRole('button', { name: /^release/ }).waitFor();
    await alarm('Tenth');
    await board.page.locator('.rvm-more', { hasText: 'new' }).waitFor();
    assert.deepEqual(await real.boundingBox(), before);
    await board.page.keyboard.press('Escape');
  });

  it('leaves them there while a verdict can be taken back', async () => {
    await choose(board.page, 'First');
    await board.page.getByLabel('Operator').fill('Anna');
    const real = board.page.getByRole('button', { name: /^real/ });
    const before = await real.boundingBox();
    await real.click();
    const undo = board.page.locator('.rvm-undo', { hasText: /\d s/ });
    await undo.waitFor();
    assert.deepEqual(await real.boundingBox(), before);
    await undo.click();
    await board.page.keyboard.press('Escape');
  });

  it('is worked by the keyboard alone, with a visible focus', async () => {
    await board.page.mouse.move(0, 0);
    await board.page.keyboard.press('n');
    await board.page.keyboard.press('Home');
    const top = await heading();
    await board.page.keyboard.press('ArrowDown');
    assert.notEqual(await heading(), top);
    await board.page.keyboard.press('ArrowUp');
    assert.equal(await heading(), top);
    assert.notEqual(
      await board.page.locator('.rvm-list').evaluate((list) => getComputedStyle(list).outlineStyle),
      'none',
    );
    assert.equal(
      await board.page.locator('.rvm-list').getAttribute('aria-activedescendant'),
      await lineOf(board.page, top).getAttribute('id'),
    );
    await board.page.keyboard.press('Enter');
    assert.match(await focused(), /rvm-claim/);
    await board.page.keyboard.press('a');
    await lineOf(board.page, top).getByText('claimed by Anna').waitFor();
    await board.page.keyboard.press('c');
    assert.match(await focused(), /comment/);
    await board.page.keyboard.type('a r f');
    await board.page.keyboard.press('Enter');
    await board.page.locator('.rvm-trail', { hasText: 'Anna a r f' }).waitFor();
    await board.page.keyboard.press('Escape');
    await board.page.keyboard.press('f');
    await lineOf(board.page, top).getByText('false alarm, Anna').waitFor();
    await board.page.keyboard.press('u');
    await lineOf(board.page, top).getByText('claimed by Anna').waitFor();
    await board.page.keyboard.press('/');
    assert.match(await focused(), /site, camera/);
    await board.page.keyboard.press('Tab');
  });

  it('does nothing on letters where these are switched off, in this browser for good', async () => {
    await board.page.getByRole('switch', { name: 'keys: on' }).click();
    await board.page.reload();
    await board.page.getByRole('switch', { name: 'keys: off' }).waitFor();
    await choose(board.page, 'Third');
    await board.page.keyboard.press('f');
    await board.page.keyboard.press('ArrowDown');
    await board.page.keyboard.press('ArrowUp');
    assert.equal(await lineOf(board.page, 'Third').getByText('false alarm').count(), 0);
    await board.page.getByRole('switch', { name: 'keys: off' }).click();
  });

  it('remembers in the browser who sits before it', async () => {
    assert.equal(await board.page.getByLabel('Operator').inputValue(), 'Anna');
  });

  it('shows the alarms of a site alone, and how many it has', async () => {
    await alarm('At the port', 'Port');
    await board.page.keyboard.press('Escape');
    await board.page.getByRole('button', { name: 'Port 1' }).click();
    await board.page.waitForFunction(`document.querySelectorAll('.rvm-list li').length === 1`);
    await lineOf(board.page, 'At the port').waitFor();
    await board.page.getByRole('button', { name: 'Port 1' }).click();
  });

  it('sounds for a new alarm, says that browsers wait for a first click, and can be switched off for good', async () => {
    const other = await board.open();
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
});
