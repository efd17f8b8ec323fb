import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { PictureFolder, TOLERANCE, ScreenshotBrowser } from '../../scripts/pictures/studio';
import { openBrowser } from '../support/editor/browser';
import { needs } from '../support/suite/programs';

const NAME = 'dialog.png';
const LABEL = 'Central Station';

describe('the pictures of the documentation, rendered anew', () => {
  let browser: Browser;
  let page: Page;
  let folder: string;
  let pictures: PictureFolder;

  before(async function () {
    needs(this, 'chromium');
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 640, height: 480 } });
  });

  after(() => browser?.close());

  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-pictures-'));
    pictures = new PictureFolder(folder, await browser.newPage());
  });

  afterEach(() => fs.rmSync(folder, { recursive: true }));

  /** A dialog with one label. */
  async function rendered(label: string, style = '', height = 480): Promise<Buffer> {
    await page.setContent(`<p style="font: 16px sans-serif; ${style}">${label}</p>`);
    return page.screenshot({ clip: { x: 0, y: 0, width: 640, height } });
  }

  async function taken(before: Buffer, after: Buffer, tolerance = TOLERANCE.still) {
    fs.writeFileSync(path.join(folder, NAME), before);
    const outcome = await pictures.take(NAME, after, tolerance);
    return { outcome, holdsNewOne: fs.readFileSync(path.join(folder, NAME)).equals(after) };
  }

  it('writes one that is not there yet', async () => {
    const png = await rendered(LABEL);
    assert.equal(await pictures.take(NAME, png, TOLERANCE.still), 'new');
    assert.deepEqual(fs.readFileSync(path.join(folder, NAME)), png);
  });

  it('leaves one that differs in a few pixels', async () => {
    const dot =
      '<i style="position: fixed; inset: 0 auto auto 0; width: 2px; height: 2px; background: red"></i>';
    const result = await taken(await rendered(LABEL), await rendered(`${LABEL}${dot}`));
    assert.deepEqual(result, { outcome: 'kept', holdsNewOne: false });
  });

  it('leaves one whose colours are nearly the same', async () => {
    const [before, after] = [await rendered(LABEL), await rendered(LABEL, 'background: #f0f0f0')];
    assert.ok(!before.equals(after));
    assert.deepEqual(await taken(before, after), { outcome: 'kept', holdsNewOne: false });
  });

  it('replaces one in which a single word differs', async () => {
    const result = await taken(await rendered(LABEL), await rendered('Central Stations'));
    assert.deepEqual(result, { outcome: 'changed', holdsNewOne: true });
  });

  it('leaves one of a flow whose status tells another time', async () => {
    const [before, after] = [await rendered('last 08:12:53'), await rendered('last 12:44:06')];
    const result = await taken(before, after, TOLERANCE.statuses);
    assert.deepEqual(result, { outcome: 'kept', holdsNewOne: false });
  });

  it('replaces one of a flow in which a node stands elsewhere', async () => {
    const node = (left: number) => rendered(LABEL, `margin-left: ${left}px; width: 100px; background: blue`);
    const result = await taken(await node(0), await node(200), TOLERANCE.statuses);
    assert.deepEqual(result, { outcome: 'changed', holdsNewOne: true });
  });

  it('leaves one of alarms with other times and pictures', async () => {
    const picture = (time: string, colour: string) =>
      rendered(`${time}<br><span style="display: block; width: 60px; height: 40px; background: ${colour}">`);
    const result = await taken(
      await picture('8:12:53 AM', 'black'),
      await picture('12:44:06 PM', 'white'),
      TOLERANCE.alarms,
    );
    assert.deepEqual(result, { outcome: 'kept', holdsNewOne: false });
  });

  it('replaces one of another size', async () => {
    const result = await taken(await rendered(LABEL), await rendered(LABEL, '', 470), TOLERANCE.alarms);
    assert.deepEqual(result, { outcome: 'changed', holdsNewOne: true });
  });

  it('leaves one with a video whose bar of the second tells another', async () => {
    const boxes = (left: number) =>
      rendered(LABEL, `margin-left: ${left}px; width: 60px; height: 60px; background: blue`);
    const result = await taken(await boxes(0), await boxes(200), TOLERANCE.video);
    assert.deepEqual(result, { outcome: 'kept', holdsNewOne: false });
  });

  it('takes a recording in the place of the one that is there', () => {
    const outcomes = ['one', 'other'].map((text) => pictures.replace('recording.webp', Buffer.from(text)));
    assert.deepEqual(outcomes, ['new', 'changed']);
    assert.equal(fs.readFileSync(path.join(folder, 'recording.webp'), 'utf8'), 'other');
  });

  it('are all made that no word leaves out, but for a recording that is there', () => {
    const studio = new ScreenshotBrowser(browser, pictures, []);
    assert.deepEqual(
      [NAME, 'recording.webp'].map((name) => studio.wants(name)),
      [true, true],
    );
    pictures.replace('recording.webp', Buffer.from('one'));
    assert.deepEqual(
      [NAME, 'recording.webp'].map((name) => studio.wants(name)),
      [true, false],
    );
  });

  it('are those alone whose names begin with a word, a recording too', () => {
    pictures.replace('recording.webp', Buffer.from('one'));
    const studio = new ScreenshotBrowser(browser, pictures, ['record', 'dialog']);
    assert.deepEqual(
      ['recording.webp', NAME, 'sidebar.png'].map((name) => studio.wants(name)),
      [true, true, false],
    );
  });

  it('counts what became of them', async () => {
    const png = await rendered(LABEL);
    for (const name of [NAME, 'other.png', NAME]) await pictures.take(name, png, TOLERANCE.still);
    assert.deepEqual(pictures.outcomes, { new: 2, changed: 0, kept: 1 });
  });
});
