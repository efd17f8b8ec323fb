import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { choose, lineOf, openBoard } from '../../support/editor/alarm-board';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { boardWithDoors, rowOf, type Row } from '../../support/examples/board';
import { packagesFor } from '../../support/examples/examples';
import { inject, NodeRed } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const JUST = { verdict: 'real', by: 'Anna' };
const UNDO = 10_000;

describe('example 10, what lies where on the board, and where its keys lead', () => {
  const errors: string[] = [];
  let browser: TestBrowser;
  let nodeRed: NodeRed;
  let page: Page;

  /** Newest first. */
  const rows = ['Fence', 'Gate', 'Yard', 'Dock'].map((rule, at) =>
    rowOf(rule, { time: new Date(Date.now() - 60_000 * (at + 1)).toISOString() }),
  );
  const [fence = {}, gate = {}, yard = {}, dock = {}] = rows;
  const tell = (...told: Row[]): Promise<void> =>
    inject(nodeRed, 'tell', { topic: 'board', payload: { at: Date.now(), rows: told } });
  const top = async (place: Locator): Promise<number> => (await place.boundingBox())?.y ?? NaN;
  const chosen = (text: string): Promise<void> => page.locator('.rvm-alarm h2', { hasText: text }).waitFor();
  const gone = (text: string): Promise<void> => lineOf(page, text).waitFor({ state: 'detached' });

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([testBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
    await nodeRed.deploy(boardWithDoors());
    page = await openBoard(browser, nodeRed, { errors, operator: 'Anna' });
  });

  /** All four alarms, none of them chosen by hand. */
  beforeEach(async () => {
    await tell(...rows);
    await page.mouse.move(0, 0);
    await page.keyboard.press('Escape');
    for (const name of ['Fence', 'Gate', 'Yard', 'Dock']) await lineOf(page, name).waitFor();
    await chosen('Fence');
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
  });

  it('leaves all below the buttons where it is with a verdict', async () => {
    await choose(page, 'Gate');
    const undo = page.locator('.rvm-undo');
    const places = (): Promise<number[]> => Promise.all([page.locator('.rvm-alarm h2'), undo].map(top));
    const before = await places();
    await tell(fence, { ...gate, judged: { ...JUST, until: Date.now() + UNDO } }, yard, dock);
    await undo.filter({ hasText: /\d s/ }).waitFor();
    assert.deepEqual(await places(), before);
    assert.equal(
      (await undo.boundingBox())?.height,
      (await page.locator('.rvm-claim').boundingBox())?.height,
    );
  });

  it('shows the key to take an alarm over, however long the name of who has it', async () => {
    await choose(page, 'Fence');
    await tell({ ...fence, claimedBy: 'Bartholomew of the Night Shift' }, gate, yard, dock);
    const button = page.locator('.rvm-claim', { hasText: 'take over' });
    const [outer, key] = [await button.boundingBox(), await button.locator('kbd').boundingBox()];
    assert.ok(outer && key && key.x + key.width <= outer.x + outer.width);
    assert.equal(await button.getAttribute('title'), 'take over from Bartholomew of the Night Shift');
  });

  for (const [key, next] of [
    ['ArrowDown', 'Yard'],
    ['ArrowUp', 'Fence'],
  ] as const)
    it(`goes on by ${key} from an alarm that has left the list`, async () => {
      await choose(page, 'Gate');
      await tell(fence, yard, dock);
      await page.locator('.rvm-more', { hasText: '1 settled' }).waitFor();
      await page.keyboard.press('n');
      await gone('Gate');
      await chosen('Gate');
      await page.keyboard.press(key);
      await chosen(next);
    });

  it('follows again once an alarm that nobody has chosen by hand is judged by a key, and settled', async () => {
    await page.waitForTimeout(800);
    await page.keyboard.press('r');
    await tell(gate, yard, dock);
    await chosen('Gate');
  });

  it('stays at an alarm that was chosen by hand, judged, and settled', async () => {
    await choose(page, 'Fence');
    await page.keyboard.press('r');
    await tell(gate, yard, dock);
    await page.locator('.rvm-facts', { hasText: 'settled' }).waitFor();
    await chosen('Fence');
  });

  it('empties the filter by Esc', async () => {
    await page.getByLabel('Filter').fill('Yard');
    await gone('Fence');
    await page.getByLabel('Filter').press('Escape');
    await lineOf(page, 'Fence').waitFor();
    assert.equal(await page.getByLabel('Filter').inputValue(), '');
  });

  it('shows no letters where these are switched off', async () => {
    const letters = page.locator('.rvm-acts kbd:visible, .rvm-legend kbd:visible', { hasText: /^[a-z/]$/ });
    assert.equal(await letters.count(), 12);
    await page.getByRole('switch', { name: 'keys: on' }).click();
    await page.getByRole('switch', { name: 'keys: off', checked: false }).waitFor();
    assert.equal(await letters.count(), 0);
    await page.getByRole('switch', { name: 'keys: off' }).click();
  });

  it('says at the top of an empty list that no alarm fits the filter', async () => {
    await page.getByLabel('Filter').fill('nothing has this name');
    const none = page.locator('.rvm-left .rvm-none');
    await none.waitFor();
    assert.ok((await top(none)) < (await top(page.locator('.rvm-list'))));
    await page.getByLabel('Filter').press('Escape');
  });

  it('fades sites out at the side to which they scroll', async () => {
    const sites = page.locator('.rvm-sites');
    assert.doesNotMatch((await sites.getAttribute('class')) ?? '', /rvm-cut/);
    await tell(...rows.map((row, at) => ({ ...row, site: `A depot with a long name ${at}` })));
    await eventually(
      async () => (await sites.getAttribute('class')) === 'rvm-sites rvm-cut-right',
      'a right end',
    );
    await sites.evaluate((bar) => (bar.scrollLeft = bar.scrollWidth));
    await eventually(
      async () => (await sites.getAttribute('class')) === 'rvm-sites rvm-cut-left',
      'a left end',
    );
  });

  it('runs without an error in the browser', () => {
    assert.deepEqual(errors, []);
  });
});
