import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { openBoard } from '../support/editor/alarm-board';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { openBrowser } from '../support/editor/browser';
import { example, packagesFor } from '../support/examples/examples';
import { SandboxOfExample, withChanges } from '../support/examples/example-sandbox';
import { PHRASE } from '../support/node-red/flows';
import { NodeRed, type FlowNode } from '../support/node-red/node-red';
import { barAt } from '../support/node-red/video-flow';
import { needs } from '../support/suite/programs';
import { eventually, soon } from '../support/time/patience';
import { numberIn } from '../support/video/encoded-video';

const LIGHT_SECONDS = 2;
const MARKUP = '<script>window.hacked = true</script><img src=x onerror="window.hacked = true">{{ 7 * 7 }}';

describe('example 10, the alarm board', () => {
  const errors: string[] = [];
  let browser: Browser;
  let nodeRed: NodeRed;
  let sandbox: SandboxOfExample;
  let page: Page;
  /** The light, which is not on for long. */
  let lit: Promise<unknown>;

  before(async function () {
    needs(this, 'chromium', 'ffmpeg');
    [browser, nodeRed] = await Promise.all([openBrowser(), NodeRed.start({ palette: packagesFor('10') })]);
    await nodeRed.deploy(flow());
    sandbox = await SandboxOfExample.of(nodeRed);
    page = await openBoard(browser, nodeRed, errors);
  });

  after(async () => {
    await browser?.close();
    await nodeRed?.stopAndRemove();
  });

  it('shows an alarm as it arrives, with site, camera, text, time, proof and age', async () => {
    lit = page.waitForSelector('.rvm-lit');
    await sandbox.raise({ camera: 'SANDBOX Gate 1', eventName: 'Fence climbed' });
    await nodeRed.message('alarm');
    await soon(lineOf(page, 'Fence climbed').waitFor());
    const cells = await lineOf(page, 'Fence climbed').locator('td').allInnerTexts();
    assert.match(cells[0] ?? '', /\d\d:\d\d/);
    assert.match(cells[1] ?? '', /^\d+ s$/);
    assert.deepEqual(cells.slice(2, 6), [
      'SANDBOX Harbour Depot',
      'SANDBOX Gate 1',
      'Fence climbed',
      'proven (hmac)',
    ]);
  });

  it('shows the picture of the alarm, of its very second', async () => {
    await pictureIs(page, 'SANDBOX Harbour Depot SANDBOX Gate 1');
    const src = await page.locator('.rvm-picture img').getAttribute('src');
    const began = /Picture of (\S+)/.exec(await page.locator('.rvm-picture').innerText())?.[1] ?? '';
    const jpeg = Buffer.from(src?.split(',')[1] ?? '', 'base64');
    assert.equal(await numberIn(jpeg), barAt(Date.parse(began)));
    const { event } = (await nodeRed.message('alarm')) as { event: { eventStartTime: string } };
    assert.ok(Math.abs(Date.parse(began) - Date.parse(`${event.eventStartTime.slice(0, 19)}Z`)) < 1000);
  });

  it('plays the alarm in the place of its picture, and shows the picture again', async () => {
    await page.locator('.rvm-picture').getByRole('button', { name: 'play' }).click();
    const video = page.frameLocator('.rvm-picture iframe');
    await video.getByText('SANDBOX Gate 1').first().waitFor();
    await video.getByRole('button', { name: 'Play' }).first().click();
    await eventually(
      async () =>
        (await video.locator('video').evaluate((element) => (element as HTMLVideoElement).currentTime)) > 1,
      'moving pictures',
    );
    await page.locator('.rvm-picture').getByRole('button', { name: 'picture' }).click();
    await pictureIs(page, 'SANDBOX Harbour Depot SANDBOX Gate 1');
  });

  it('switches the light on, and off by time while the alarm goes on', async () => {
    await lit;
    await page.waitForSelector('.rvm-light:not(.rvm-lit)');
    assert.equal(await lineOf(page, 'Fence climbed').getByText('(ended)').count(), 0);
  });

  it('shows names from outside as text', async () => {
    const message = alarmMessage({ locationName: MARKUP, cameraName: MARKUP, eventName: MARKUP });
    const answer = await post(`${nodeRed.url}/remote-monitoring/example-10`, message, PHRASE);
    assert.equal(answer.status, 200);
    await page.waitForFunction(`document.querySelectorAll('.rvm-board tbody tr').length === 2`);
    const cells = await page.locator('.rvm-board tbody tr').first().locator('td').allInnerTexts();
    assert.deepEqual(cells.slice(2, 5), [MARKUP, MARKUP, MARKUP]);
    await page.getByText('No picture: DEVICE_NOT_FOUND').waitFor();
    assert.match(await page.locator('.rvm-picture').innerText(), /<script>/);
    assert.equal(await page.evaluate('window.hacked'), undefined);
  });

  it('shows the kept picture of the line that is chosen', async () => {
    await lineOf(page, 'Fence climbed').locator('td').first().click();
    await page.waitForSelector('.rvm-chosen:has-text("Fence climbed")');
    await pictureIs(page, 'SANDBOX Harbour Depot SANDBOX Gate 1');
  });

  it('shows the end of an alarm in its line', async () => {
    await sandbox.raise({ camera: 'SANDBOX Yard 1', eventName: 'Short', seconds: 0 });
    await lineOf(page, 'Short').getByText('(ended)').waitFor();
    assert.equal(await lineOf(page, 'Short').count(), 1);
  });

  it('is filled in a browser that is opened later, and acknowledges for all browsers', async () => {
    const other = await openBoard(browser, nodeRed, errors);
    await lineOf(other, 'Fence climbed').getByRole('button').click();
    await lineOf(page, 'Fence climbed').getByText('acknowledged').waitFor();
    await lineOf(other, 'Fence climbed').getByText('acknowledged').waitFor();
    const another = await openBoard(browser, nodeRed, errors);
    await lineOf(another, 'Fence climbed').getByText('acknowledged').waitFor();
    assert.equal(await lineOf(another, 'Short').getByRole('button').count(), 1);
    await Promise.all([other.close(), another.close()]);
  });

  it('drops what a browser sends of an alarm that is not on the board', async () => {
    const lines = (): Promise<string> => page.locator('.rvm-board tbody').innerText();
    for (const sent of [{ topic: 'select', key: MARKUP }, { topic: 'acknowledge', key: {} }, {}]) {
      await page.evaluate(`(() => {
        const { $socket } = document.querySelector('#app').__vue_app__._context.provides;
        $socket.emit('widget-send', 'rvm-example-10-table', ${JSON.stringify(sent)});
      })()`);
    }
    await lineOf(page, 'Short').getByRole('button').click();
    await lineOf(page, 'Short').getByText('acknowledged').waitFor();
    assert.equal((await lines()).match(/acknowledged/g)?.length, 2);
    assert.doesNotMatch(nodeRed.log, /\[error\]/);
  });

  it('is filled from the inbox after a restart, and takes a picture when a line is chosen', async () => {
    const { userDir, port } = nodeRed;
    await nodeRed.stop();
    nodeRed = await NodeRed.start({ userDir, port, palette: packagesFor('10') });
    await page.close();
    page = await openBoard(browser, nodeRed, errors);
    await lineOf(page, 'Short').getByText('(ended)').waitFor();
    await lineOf(page, 'Fence climbed').locator('td').first().click();
    await pictureIs(page, 'SANDBOX Harbour Depot SANDBOX Gate 1');
    const cells = await lineOf(page, 'Fence climbed').locator('td').allInnerTexts();
    assert.equal(cells[5], 'proven');
  });

  it('runs without an error in the browser', () => {
    assert.deepEqual(errors, []);
  });
});

function lineOf(page: Page, text: string): ReturnType<Page['locator']> {
  return page.locator('.rvm-board tbody tr', { hasText: text });
}

/** Waits for a picture that has loaded, and for whose it is. */
async function pictureIs(page: Page, title: string): Promise<void> {
  await page.waitForFunction(
    `document.querySelector('.rvm-picture')?.innerText.startsWith(${JSON.stringify(title)}) &&
      document.querySelector('.rvm-picture img')?.naturalWidth > 0`,
  );
}

/** The example with a phrase that the test knows, a light that is soon out, and a probe at the alarm path. */
function flow(): FlowNode[] {
  return withChanges(example('10', { 'rvm-example-10-new-alarm': 'alarm' }), {
    'rvm-example-10-station': { credentials: { secret: PHRASE } },
    'rvm-example-10-light-time': { duration: String(LIGHT_SECONDS) },
  });
}
