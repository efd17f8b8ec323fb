import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { boardWithDoors, rowOf } from '../../support/examples/board';
import { packagesFor } from '../../support/examples/examples';
import { inject, NodeRed } from '../../support/node-red/node-red';
import { needs } from '../../support/suite/programs';
import { PATIENCE } from '../../support/time/patience';

const HOUR = 3_600_000;
const MOST = 1190;
const NAMES = ['SANDBOX Weighbridge 1', 'SANDBOX Weighbridge 2'];

describe('example 10, what lies where on the site plan and among the statistics', () => {
  let browser: TestBrowser;
  let nodeRed: NodeRed;
  let page: Page;

  before(async function () {
    needs(this, 'chromium');
    [browser, nodeRed] = await Promise.all([testBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
    await nodeRed.deploy(boardWithDoors());
    page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`${nodeRed.url}/dashboard/plan`);
    await page.locator('.rvm-plan').waitFor();
    const site = 'Depot';
    const rows = NAMES.map((camera) => rowOf(camera, { camera, site }));
    const devices = NAMES.map((name) => ({ id: name, name, site, online: true }));
    await inject(nodeRed, 'plan', { devices, payload: { rows } });
    const now = Math.floor(Date.now() / HOUR) * HOUR;
    const counts = { alarms: MOST, real: 1, false: 80, secondsToSettle: MOST };
    const hours = Array.from({ length: 24 }, (_, at) => ({
      group: new Date(now - at * HOUR).toISOString(),
      ...counts,
    }));
    await inject(nodeRed, 'statistics', { hours, sites: [{ group: 'SANDBOX Harbour Depot', ...counts }] });
    await page.locator('.rvm-camera.rvm-raised').nth(1).waitFor();
    await page.locator('.rvm-by-site td').first().waitFor();
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
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
