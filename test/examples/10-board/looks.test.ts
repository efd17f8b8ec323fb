import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { choose, lineOf } from '../../support/editor/alarm-board';
import { boardWithDoors, describeBoard, rowOf, type Row } from '../../support/examples/board';
import { inject } from '../../support/node-red/node-red';
import { eventually } from '../../support/time/patience';

const HOUR = 3_600_000;
const MOST = 1190;
const NAMES = ['SANDBOX Weighbridge 1', 'SANDBOX Weighbridge 2'];
const JUST = { verdict: 'real', by: 'Anna' };
const UNDO = 10_000;

const title = 'what lies where on the board, and where its keys lead';

describeBoard(title, { flow: boardWithDoors(), operator: 'Anna' }, (board) => {
  /** Newest first. */
  const rows = ['Fence', 'Gate', 'Yard', 'Dock'].map((rule, at) =>
    rowOf(rule, { time: new Date(Date.now() - 60_000 * (at + 1)).toISOString() }),
  );
  const [fence = {}, gate = {}, yard = {}, dock = {}] = rows;
  const tell = (...told: Row[]): Promise<void> =>
    inject(board.nodeRed, 'tell', { topic: 'board', payload: { at: Date.now(), rows: told } });
  const top = async (place: Locator): Promise<number> => (await place.boundingBox())?.y ?? NaN;
  const chosen = (text: string): Promise<void> =>
    board.page.locator('.rvm-alarm h2', { hasText: text }).waitFor();
  const gone = (text: string): Promise<void> => lineOf(board.page, text).waitFor({ state: 'detached' });

  /** All four alarms, none of them chosen by hand. */
  beforeEach(async () => {
    await tell(...rows);
    await board.page.mouse.move(0, 0);
    await board.page.keyboard.press('Escape');
    for (const name of ['Fence', 'Gate', 'Yard', 'Dock']) await lineOf(board.page, name).waitFor();
    await chosen('Fence');
  });

  it('leaves all below the buttons where it is with a verdict', async () => {
    await choose(board.page, 'Gate');
    const undo = board.page.locator('.rvm-undo');
    const places = (): Promise<number[]> => Promise.all([board.page.locator('.rvm-alarm h2'), undo].map(top));
    const before = await places();
    await tell(fence, { ...gate, judged: { ...JUST, until: Date.now() + UNDO } }, yard, dock);
    await undo.filter({ hasText: /\d s/ }).waitFor();
    assert.deepEqual(await places(), before);
    assert.equal(
      (await undo.boundingBox())?.height,
      (await board.page.locator('.rvm-claim').boundingBox())?.height,
    );
  });

  it('shows the key to take an alarm over, however long the name of who has it', async () => {
    await choose(board.page, 'Fence');
    await tell({ ...fence, claimedBy: 'Bartholomew of the Night Shift' }, gate, yard, dock);
    const button = board.page.locator('.rvm-claim', { hasText: 'take over' });
    const [outer, key] = [await button.boundingBox(), await button.locator('kbd').boundingBox()];
    assert.ok(outer && key && key.x + key.width <= outer.x + outer.width);
    assert.equal(await button.getAttribute('title'), 'take over from Bartholomew of the Night Shift');
  });

  for (const [key, next] of [
    ['ArrowDown', 'Yard'],
    ['ArrowUp', 'Fence'],
  ] as const)
    it(`goes on by ${key} from an alarm that has left the list`, async () => {
      await choose(board.page, 'Gate');
      await tell(fence, yard, dock);
      await board.page.locator('.rvm-more', { hasText: '1 settled' }).waitFor();
      await board.page.keyboard.press('n');
      await gone('Gate');
      await chosen('Gate');
      await board.page.keyboard.press(key);
      await chosen(next);
    });

  it('follows again once an alarm that nobody has chosen by hand is judged by a key, and settled', async () => {
    await board.page.waitForTimeout(800);
    await board.page.keyboard.press('r');
    await tell(gate, yard, dock);
    await chosen('Gate');
  });

  it('stays at an alarm that was chosen by hand, judged, and settled', async () => {
    await choose(board.page, 'Fence');
    await board.page.keyboard.press('r');
    await tell(gate, yard, dock);
    await board.page.locator('.rvm-facts', { hasText: 'settled' }).waitFor();
    await chosen('Fence');
  });

  it('empties the filter by Esc', async () => {
    await board.page.getByLabel('Filter').fill('Yard');
    await gone('Fence');
    await board.page.getByLabel('Filter').press('Escape');
    await lineOf(board.page, 'Fence').waitFor();
    assert.equal(await board.page.getByLabel('Filter').inputValue(), '');
  });

  it('shows no letters where these are switched off', async () => {
    const letters = board.page.locator('.rvm-acts kbd:visible, .rvm-legend kbd:visible', {
      hasText: /^[a-z/]$/,
    });
    assert.equal(await letters.count(), 12);
    await board.page.getByRole('switch', { name: 'keys: on' }).click();
    await board.page.getByRole('switch', { name: 'keys: off', checked: false }).waitFor();
    assert.equal(await letters.count(), 0);
    await board.page.getByRole('switch', { name: 'keys: off' }).click();
  });

  it('says at the top of an empty list that no alarm fits the filter', async () => {
    await board.page.getByLabel('Filter').fill('nothing has this name');
    const none = board.page.locator('.rvm-left .rvm-none');
    await none.waitFor();
    assert.ok((await top(none)) < (await top(board.page.locator('.rvm-list'))));
    await board.page.getByLabel('Filter').press('Escape');
  });

  it('fades sites out at the side to which they scroll', async () => {
    const sites = board.page.locator('.rvm-sites');
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

  describe('on the site plan and among the statistics', () => {
    let page: Page;

    before(async () => {
      page = await board.openPlan('.rvm-plan');
      const site = 'Depot';
      const rows = NAMES.map((camera) => rowOf(camera, { camera, site }));
      const devices = NAMES.map((name) => ({ id: name, name, site, online: true }));
      await inject(board.nodeRed, 'plan', { devices, payload: { rows } });
      const now = Math.floor(Date.now() / HOUR) * HOUR;
      const counts = { alarms: MOST, real: 1, false: 80, secondsToSettle: MOST };
      const hours = Array.from({ length: 24 }, (_, at) => ({
        group: new Date(now - at * HOUR).toISOString(),
        ...counts,
      }));
      await inject(board.nodeRed, 'statistics', {
        hours,
        sites: [{ group: 'SANDBOX Harbour Depot', ...counts }],
      });
      await page.locator('.rvm-camera.rvm-raised').nth(1).waitFor();
      await page.locator('.rvm-by-site td').first().waitFor();
    });

    it('writes no name of a camera over that of its neighbour', async () => {
      const [one, other] = await Promise.all(
        NAMES.map((name) =>
          page
            .locator('.rvm-camera .rvm-name', { hasText: name.replace('SANDBOX ', '') })
            .evaluate((text) => text.getBoundingClientRect().toJSON() as DOMRect),
        ),
      );
      assert.ok(one && other && (one.right < other.left || other.bottom < one.top || one.bottom < other.top));
    });

    it('shows the whole number of each bar, and none over that of the next', async () => {
      const boxes = await page.evaluate<
        number[][][]
      >(`[...document.querySelectorAll('.rvm-statistics svg')].map((svg) =>
      [svg, ...[...svg.querySelectorAll('text')].filter((text) => text.textContent === '${MOST}')].map((part) => {
        const { left, top, right, bottom } = part.getBoundingClientRect();
        return [left, top, right, bottom];
      }))`);
      assert.equal(boxes.length, 2);
      for (const [drawing = [], ...numbers] of boxes) {
        assert.equal(numbers.length, 24);
        for (const [at, [left = NaN, top = NaN, right = NaN]] of numbers.entries()) {
          assert.ok(
            left >= (drawing[0] ?? NaN) && right <= (drawing[2] ?? NaN) && top >= (drawing[1] ?? NaN),
          );
          assert.ok(at === 0 || left >= (numbers[at - 1]?.[2] ?? NaN) - 1, 'beside the one before it');
        }
      }
    });
  });
});
