import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { choose, letIn, lineOf } from '../../support/editor/alarm-board';
import { boardFlow, describeBoard, postAlarm, settledWhen } from '../../support/examples/board';
import { SandboxOfExample, withChanges } from '../../support/examples/example-run';
import { SLOW_VERSIONS } from '../../support/suite/lanes';

const MARKUP = '<img src=x onerror="window.hacked = true">';

const EACH_SECOND = { repeat: '1' };
/** The example, which asks for cameras and counts each second. */
const FLOW = withChanges(boardFlow({ undoSeconds: 1 }), {
  'devices-tick': EACH_SECOND,
  'statistics-tick': EACH_SECOND,
});

for (const version of SLOW_VERSIONS)
  describeBoard('site plan and statistics', { version, flow: FLOW, operator: 'Anna' }, (board) => {
    let page: Page;
    let sandbox: SandboxOfExample;

    /** A camera on the plan. */
    const camera = (name: string, state = ''): Locator =>
      page.locator(`.rvm-camera${state && `.rvm-${state}`}`, { hasText: name });
    const beside = (text: RegExp): Locator => page.locator('.rvm-beside li', { hasText: text });

    before(async () => {
      sandbox = await SandboxOfExample.of(board.nodeRed);
      page = await board.openPlan();
    });

    it('shows the cameras of the table at their places, and lists the others beside', async () => {
      await page.waitForFunction(`document.querySelectorAll('.rvm-camera').length === 8`);
      assert.equal(await camera('Gate 1').getAttribute('transform'), 'translate(75 215)');
      await beside(/SANDBOX Yard 1: online/).waitFor();
      assert.equal(await page.locator('.rvm-beside li').count(), 16);
    });

    it('blinks where there is an alarm, until it is judged; claimed, it is steady and of another shape', async () => {
      await sandbox.raise({ camera: 'SANDBOX Gate 1', eventName: 'At the gate' });
      await camera('Gate 1', 'raised').waitFor();
      assert.equal(await motionOf(page), 'rvm-blink');
      await choose(board.page, 'At the gate');
      await board.page.keyboard.press('a');
      await camera('Gate 1', 'claimed').waitFor();
      assert.equal(await camera('Gate 1').locator('rect.rvm-sign').count(), 1);
      await board.page.keyboard.press('f');
      await camera('Gate 1', 'online').waitFor();
    });

    it('stands still where the browser is asked for less motion, and shows the alarm by its shape', async () => {
      await sandbox.raise({ camera: 'SANDBOX Entrance 1', eventName: 'At the entrance' });
      const still = await board.openPlan('.rvm-camera', { reducedMotion: 'reduce' });
      await still.locator('.rvm-camera.rvm-raised path.rvm-sign').waitFor();
      assert.equal(await motionOf(still), 'none');
      await still.close();
    });

    it('names camera and state for screen readers', async () => {
      await page.getByRole('link', { name: 'SANDBOX Entrance 1: alarm' }).waitFor();
      await page.getByRole('img', { name: 'SANDBOX Gate 2: online' }).waitFor();
    });

    it('shows cameras that are offline, on the plan and beside it', async () => {
      await sandbox.fault({ kind: 'camera-offline', camera: 'SANDBOX Weighbridge 2' });
      await sandbox.fault({ kind: 'camera-offline', camera: 'SANDBOX Yard 1' });
      await camera('Weighbridge 2', 'offline').locator('.rvm-cross').waitFor();
      await beside(/SANDBOX Yard 1: offline/).waitFor();
    });

    it('lists the alarm of a camera that is not on the plan first, also of one the service does not list', async () => {
      const names = { cameraName: MARKUP, locationName: MARKUP };
      await postAlarm(board.nodeRed, { eventRuleName: 'Elsewhere', ...names });
      await page.locator('.rvm-beside li').first().getByText(MARKUP).first().waitFor();
      assert.equal(await page.evaluate('window.hacked'), undefined);
    });

    it('lists the alarm of a camera that has the name of one on the plan, but is elsewhere', async () => {
      const elsewhere = { cameraName: 'SANDBOX Gate 2', locationName: 'Another depot' };
      await postAlarm(board.nodeRed, { eventRuleName: 'At another gate', ...elsewhere });
      await beside(/SANDBOX Gate 2: alarm\s*Another depot/).waitFor();
      await camera('Gate 2', 'online').waitFor();
    });

    it('counts by hour and site, the share of false alarms, and the seconds until settled', async () => {
      await letIn(board.page, 'At the entrance');
      await choose(board.page, 'At the entrance');
      await board.page.keyboard.press('r');
      await settledWhen(board.nodeRed, 'At the entrance');
      const row = page.locator('.rvm-by-site tr', { hasText: 'SANDBOX Harbour Depot' });
      await row.getByText('50 %').waitFor();
      const cells = await row.locator('td').allInnerTexts();
      assert.deepEqual(cells.slice(1, 5), ['2', '1', '1', '50 %']);
      assert.match(cells[5] ?? '', /^\d+$/);
      await page.getByRole('img', { name: /^Alarms by hour: .*\d\d:00 [1-4]/ }).waitFor();
      await page.getByRole('img', { name: /^Seconds until settled: \d\d:00 \d+/ }).waitFor();
    });

    it('is seen as a whole at 1366x768', async () => {
      const sizes = await page.evaluate(`({
        page: document.documentElement.scrollHeight - innerHeight,
        wide: document.documentElement.scrollWidth - innerWidth,
        plan: (() => {
          const drawing = document.querySelector('.rvm-drawing').getBoundingClientRect();
          const all = [...document.querySelectorAll('.rvm-drawing g, .rvm-drawing rect')];
          return all.every((part) => part.getBoundingClientRect().bottom <= drawing.bottom + 1);
        })(),
      })`);
      assert.deepEqual(sizes, { page: 0, wide: 0, plan: true });
    });

    it('breaks no word of the headings above its numbers', async () => {
      const broken =
        await page.evaluate(`[...document.querySelectorAll('.rvm-by-site th')].filter((heading) => {
        const range = document.createRange();
        range.selectNodeContents(heading);
        return range.getClientRects().length > heading.innerText.split(' ').length;
      }).map(({ innerText }) => innerText)`);
      assert.deepEqual(broken, []);
    });

    it('leads to the alarm on the first page by a click, or by Enter', async () => {
      await sandbox.raise({ camera: 'SANDBOX North Fence 1', eventName: 'At the fence' });
      await sandbox.raise({ camera: 'SANDBOX Loading Bay 1', eventName: 'Newest of all' });
      await camera('North Fence 1', 'raised').click();
      await page.locator('.rvm-alarm h2', { hasText: 'At the fence' }).waitFor();
      await lineOf(page, 'Newest of all').waitFor();
      assert.equal(await page.locator('.rvm-alarm h2').innerText(), 'At the fence');
      await page.goBack();
      await camera('North Fence 1', 'raised').focus();
      await page.keyboard.press('Enter');
      await page.locator('.rvm-alarm h2', { hasText: 'At the fence' }).waitFor();
    });
  });

function motionOf(page: Page): Promise<string> {
  return page
    .locator('.rvm-camera.rvm-raised .rvm-sign')
    .first()
    .evaluate((sign) => getComputedStyle(sign).animationName);
}
