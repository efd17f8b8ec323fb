import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { choose, letIn, lineOf, pictureIs } from '../../support/editor/alarm-board';
import { boardFlow, describeBoard, postAlarm } from '../../support/examples/board';
import { SandboxOfExample } from '../../support/examples/example-run';
import { barAt } from '../../support/node-red/station-flow';
import { nightlyIt, SLOW_VERSIONS } from '../../support/suite/lanes';
import { eventually, soon } from '../../support/time/patience';
import { numberIn } from '../../support/video/encoded-video';

const MARKUP = '<script>window.hacked = true</script><img src=x onerror="window.hacked = true">{{ 7 * 7 }}';

for (const version of SLOW_VERSIONS)
  describeBoard('what the board shows', { version, flow: boardFlow(), programs: ['ffmpeg'] }, (board) => {
    let sandbox: SandboxOfExample;

    before(async () => {
      sandbox = await SandboxOfExample.of(board.nodeRed);
    });

    it('shows an alarm as it arrives, with site, camera, age, proof and state', async () => {
      await sandbox.raise({ camera: 'SANDBOX Gate 1', eventName: 'Fence climbed' });
      await soon(lineOf(board.page, 'Fence climbed').waitFor());
      const line = await lineOf(board.page, 'Fence climbed').innerText();
      assert.match(line, /SANDBOX Gate 1 · SANDBOX Harbour Depot/);
      assert.match(line, /\d+ s\s+new/);
      assert.match(await board.page.locator('.rvm-facts').innerText(), /proven \(hmac\)/);
      assert.match(await board.page.locator('.rvm-count').innerText(), /^1 open, 1 unclaimed$/);
    });

    it('shows the picture of the alarm, of its very second', async () => {
      await pictureIs(board.page, 'Fence climbed');
      const src = await board.page.locator('.rvm-media img').getAttribute('src');
      const began = /Picture of (.+)/.exec(await board.page.locator('figcaption').innerText())?.[1] ?? '';
      const jpeg = Buffer.from(src?.split(',')[1] ?? '', 'base64');
      assert.equal(await numberIn(jpeg), barAt(Date.parse(began)));
    });

    nightlyIt('plays clip and live beside the picture', async () => {
      const video = board.page.frameLocator('.rvm-media iframe');
      const seconds = (): Promise<number> =>
        video.locator('video:not([hidden])').evaluate((element) => (element as HTMLVideoElement).currentTime);
      await video.getByRole('button', { name: 'Play' }).first().click();
      await eventually(async () => (await seconds()) > 1, 'moving pictures');
      await video.getByRole('button', { name: 'Show live' }).click();
      await video.getByRole('button', { name: 'Show live' }).waitFor({ state: 'hidden' });
      const before = await seconds();
      await eventually(async () => (await seconds()) > before, 'moving live pictures');
      assert.ok(await board.page.locator('.rvm-media img').isVisible());
    });

    it('says to a screen reader which alarm is new', async () => {
      await sandbox.raise({ camera: 'SANDBOX Yard 1', eventName: 'Loitering' });
      await board.page
        .locator('[aria-live=assertive]', { hasText: 'New alarm: Loitering, SANDBOX Yard 1' })
        .waitFor({ state: 'attached' });
      assert.match(
        (await lineOf(board.page, 'Loitering').getAttribute('aria-label')) ?? '',
        /Loitering, SANDBOX Yard 1/,
      );
    });

    it('names the alarm in each button', async () => {
      await choose(board.page, 'Fence climbed');
      for (const name of [/claim: Fence climbed/, /real: Fence climbed/, /false alarm: Fence climbed/])
        await board.page.getByRole('button', { name }).waitFor();
    });

    it('shows the end of an alarm in its line', async () => {
      await sandbox.raise({ camera: 'SANDBOX Yard 1', eventName: 'Short', seconds: 0 });
      await letIn(board.page, 'Short');
      await lineOf(board.page, 'Short').getByText('ended').waitFor();
      assert.equal(await lineOf(board.page, 'Short').count(), 1);
    });

    it('shows names from outside as text', async () => {
      await postAlarm(board.nodeRed, { locationName: MARKUP, cameraName: MARKUP, eventRuleName: MARKUP });
      const line = lineOf(board.page, '{{ 7 * 7 }}');
      await letIn(board.page, '{{ 7 * 7 }}');
      await line.click();
      assert.equal(await board.page.locator('.rvm-alarm h2').innerText(), MARKUP);
      await board.page.getByText('No picture: DEVICE_NOT_FOUND').waitFor();
      assert.match(await line.innerText(), /<script>.*\{\{ 7 \* 7 \}\}/);
      assert.equal(await board.page.evaluate('window.hacked'), undefined);
    });

    it('tells the age by the clock of Node-RED, in a page that is opened later, too', async () => {
      const other = await board.browser.newPage();
      await other.clock.setSystemTime(Date.now() - 3_600_000);
      await other.goto(`${board.nodeRed.url}/dashboard/alarms`);
      await lineOf(other, 'Fence climbed').waitFor();
      await postAlarm(board.nodeRed, { eventRuleName: 'Tells the time' });
      await eventually(async () => (await ageOf(other)) > 0, 'the time of Node-RED');
      assert.ok(Math.abs((await ageOf(board.page)) - (await ageOf(other))) < 10);
      await other.close();
    });

    for (const [width, height] of [
      [1366, 768],
      [1920, 1080],
    ] as const)
      it(`is seen as a whole at ${width}x${height}: only the list scrolls`, async () => {
        for (let count = 0; count < 15; count += 1)
          await postAlarm(board.nodeRed, { eventRuleName: `Alarm ${width} ${count}` });
        const other = await board.open(undefined, { width, height });
        await lineOf(other, `Alarm ${width} 14`).waitFor();
        const sizes = (): Promise<Record<string, unknown>> =>
          other.evaluate(`({
            page: document.documentElement.scrollHeight - innerHeight,
            wide: document.documentElement.scrollWidth - innerWidth,
            list: document.querySelector('.rvm-list').scrollHeight > document.querySelector('.rvm-list').clientHeight,
            right: document.querySelector('.rvm-right').scrollHeight - document.querySelector('.rvm-right').clientHeight,
            legend: document.querySelector('.rvm-legend').getBoundingClientRect().bottom <= innerHeight,
          })`);
        const wanted = { page: 0, wide: 0, list: true, right: 0, legend: true };
        // The picture beside the list may still be on its way.
        await eventually(async () => isDeepStrictEqual(await sizes(), wanted), 'a board that fits');
        await other.close();
      });
  });

/** Seconds that the line of an alarm says; the first alarm of this file is younger than an hour. */
async function ageOf(page: Page): Promise<number> {
  const [, count = '', unit] =
    /(\d+) (s|min)\b/.exec(await lineOf(page, 'Fence climbed').locator('.rvm-when').innerText()) ?? [];
  return Number(count) * (unit === 'min' ? 60 : 1);
}
