/**
 * `npm run pictures`: renders the pictures of README and docs/ from the running package. Needs Chromium, and ffmpeg for the
 * pictures of cameras. Replaces only pictures that have changed. A removed picture is always rendered; a recording is rendered
 * only if it was removed. `npm run pictures -- dialog-view sidebar` renders only those whose names begin with one of these
 * words.
 */
import fs from 'node:fs';
import path from 'node:path';
import { openBrowser } from '../test/support/editor/browser';
import { NodeRed } from '../test/support/node-red/node-red';
import { programPath } from '../test/support/suite/programs';
import { buildIfStale, ROOT } from './build';
import { BOARDS, DIALOGS, EXAMPLE_FLOWS, SIDEBAR, STATISTICS, VIEW_PAGE } from './pictures/shots';
import { DAYLIGHT, PictureFolder, ScreenshotBrowser, type Shoot } from './pictures/studio';
import { RECORDING } from './pictures/recording';

const IMAGES = path.join(ROOT, 'docs', 'images');
const BOARDS_AND_FLOWS = [...BOARDS, STATISTICS, ...EXAMPLE_FLOWS];
const SHOOTS: readonly Shoot[] = [DIALOGS, SIDEBAR, VIEW_PAGE, RECORDING, ...BOARDS_AND_FLOWS];

async function main(words: readonly string[]): Promise<void> {
  if (programPath('chromium') === undefined)
    throw new Error('Chromium is needed to render pictures: install the package chromium.');
  if (programPath('ffmpeg') === undefined)
    throw new Error('ffmpeg is needed for what cameras see: install the package ffmpeg.');
  buildIfStale();
  fs.mkdirSync(IMAGES, { recursive: true });
  const browser = await openBrowser();
  try {
    const pictures = new PictureFolder(IMAGES, await browser.newPage());
    await takeAll(new ScreenshotBrowser(browser, pictures, words));
    const { changed, kept } = pictures.outcomes;
    console.log(`${pictures.outcomes.new} new, ${changed} changed, ${kept} left as they were`);
  } finally {
    await browser.close();
  }
}

async function takeAll(studio: ScreenshotBrowser): Promise<void> {
  const wanted = SHOOTS.filter(({ names }) => names.some((name) => studio.wants(name)));
  if (wanted.length === 0) throw new Error('No picture has a name that begins so: see docs/images.');
  for (const { palette = [], take } of wanted) {
    const nodeRed = await NodeRed.start({ palette, settings: `daylight: ${DAYLIGHT},` });
    try {
      await take(nodeRed, studio);
    } finally {
      await nodeRed.stopAndRemove();
    }
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
