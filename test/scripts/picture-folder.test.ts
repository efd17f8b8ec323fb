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

  it('writes one that is not there yet', async () => {
    const png = await rendered(LABEL);
    assert.equal(await pictures.take(NAME, png, TOLERANCE.still), 'new');
    assert.deepEqual(fs.readFileSync(path.join(folder, NAME)), png);
  });

  const DOT =
    '<i style="position: fixed; inset: 0 auto auto 0; width: 2px; height: 2px; background: red"></i>';
  const box = (left: number, width: number, height = ''): string =>
    `margin-left: ${left}px; width: ${width}px; ${height} background: blue`;
  const alarm = (time: string, colour: string): string =>
    `${time}<br><span style="display: block; width: 60px; height: 40px; background: ${colour}">`;

  type Shown = Parameters<typeof rendered>;
  const CASES: [title: string, before: Shown, after: Shown, tolerance: keyof typeof TOLERANCE][] = [
    ['leaves one that differs in a few pixels', [LABEL], [LABEL + DOT], 'still'],
    ['leaves one whose colours are nearly the same', [LABEL], [LABEL, 'background: #f0f0f0'], 'still'],
    ['replaces one in which a single word differs', [LABEL], ['Central Stations'], 'still'],
    [
      'leaves one of a flow whose status tells another time',
      ['last 08:12:53'],
      ['last 12:44:06'],
      'statuses',
    ],
    [
      'replaces one of a flow in which a node stands elsewhere',
      [LABEL, box(0, 100)],
      [LABEL, box(200, 100)],
      'statuses',
    ],
    [
      'leaves one of alarms with other times and pictures',
      [alarm('8:12:53 AM', 'black')],
      [alarm('12:44:06 PM', 'white')],
      'alarms',
    ],
    ['replaces one of another size', [LABEL], [LABEL, '', 470], 'alarms'],
    [
      'leaves one with a video whose bar of the second tells another',
      [LABEL, box(0, 60, 'height: 60px;')],
      [LABEL, box(200, 60, 'height: 60px;')],
      'video',
    ],
  ];
  for (const [title, ...shown] of CASES)
    it(title, async () => {
      const [before, after] = [await rendered(...shown[0]), await rendered(...shown[1])];
      assert.ok(!before.equals(after));
      fs.writeFileSync(path.join(folder, NAME), before);
      const outcome = await pictures.take(NAME, after, TOLERANCE[shown[2]]);
      const isReplaced = title.startsWith('replaces');
      assert.equal(outcome, isReplaced ? 'changed' : 'kept');
      assert.equal(fs.readFileSync(path.join(folder, NAME)).equals(after), isReplaced);
    });

  it('takes a recording in the place of the one that is there', () => {
    const outcomes = ['one', 'other'].map((text) => pictures.replace('recording.webp', Buffer.from(text)));
    assert.deepEqual(outcomes, ['new', 'changed']);
    assert.equal(fs.readFileSync(path.join(folder, 'recording.webp'), 'utf8'), 'other');
  });

  for (const [title, words, without, wanted] of [
    ['are all made that no word leaves out', [], true, 'recording.webp dialog.png sidebar.png'],
    ['are all made but for a recording that is there', [], false, 'dialog.png sidebar.png'],
    [
      'are those alone whose names begin with a word, a recording too',
      ['record', 'dialog'],
      false,
      'recording.webp dialog.png',
    ],
  ] as const)
    it(title, () => {
      if (!without) pictures.replace('recording.webp', Buffer.from('one'));
      const studio = new ScreenshotBrowser(browser, pictures, words);
      const all = ['recording.webp', NAME, 'sidebar.png'];
      assert.deepEqual(
        all.filter((name) => studio.wants(name)),
        wanted.split(' '),
      );
    });

  it('counts what became of them', async () => {
    const png = await rendered(LABEL);
    for (const name of [NAME, 'other.png', NAME]) await pictures.take(name, png, TOLERANCE.still);
    assert.deepEqual(pictures.outcomes, { new: 2, changed: 0, kept: 1 });
  });
});
