import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { boardWithDoors, rowOf } from '../../support/examples/board';
import { describeBoard } from '../../support/examples/describe-board';
import { inject } from '../../support/node-red/node-red';

const HOUR = 3_600_000;
const MOST = 1190;
const NAMES = ['SANDBOX Weighbridge 1', 'SANDBOX Weighbridge 2'];

const title = 'what lies where on the site plan and among the statistics';

describeBoard(title, { flow: boardWithDoors() }, (board) => {
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
        assert.ok(left >= (drawing[0] ?? NaN) && right <= (drawing[2] ?? NaN) && top >= (drawing[1] ?? NaN));
        assert.ok(at === 0 || left >= (numbers[at - 1]?.[2] ?? NaN) - 1, 'beside the one before it');
      }
    }
  });
});
