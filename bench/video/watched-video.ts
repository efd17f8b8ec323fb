import type { Page } from 'playwright-core';

/** What somebody sees who opens a live view. */
export interface Watched {
  /** Milliseconds from the click to the second picture: the first that moves. */
  firstMs: number;
  /** Seconds from the playhead to the end of what has come, and from the clock in the picture to that of this machine: medians. */
  playerLag: number;
  trueLag: number;
}

/**
 * Runs in the page. The sandbox draws the second into its pictures as a row of seven squares, of a minute that began with
 * 1760000000: where another second appears for the first time, its picture is as late as that second is over.
 */
const WATCH = `async (button, seconds) => {
  const median = (figures) => figures.sort((one, other) => one - other)[figures.length >> 1];
  const shown = () => [...document.querySelectorAll('video')].find((video) => !video.hidden);
  const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 180 });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const second = () => {
    context.drawImage(shown(), 0, 0, 320, 180);
    const bits = Array.from({ length: 7 }, (_, bit) => context.getImageData(21 + 24 * bit, 19, 1, 1).data[1] > 128);
    return bits.reduce((sum, isSet, bit) => sum + (isSet ? 2 ** bit : 0), 0);
  };
  const picture = () => new Promise((resolve) => shown().requestVideoFrameCallback((_, told) => resolve(told.mediaTime)));

  const from = performance.now();
  document.querySelector(button).click();
  for (let first = await picture(); (await picture()) === first; );
  const firstMs = performance.now() - from;

  // It may jump to the newest picture meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const [player, real] = [[], []];
  let before;
  for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
    await picture();
    const now = Date.now();
    const video = shown();
    player.push(video.buffered.end(video.buffered.length - 1) - video.currentTime);
    const seen = second();
    const late = ((now / 1000 - 1760000000 - seen) % 60 + 60) % 60;
    if (before !== undefined && seen !== before) real.push(late);
    before = seen;
  }
  return { firstMs, playerLag: median(player), trueLag: median(real) };
}`;

/** Presses the button, and watches. @param seconds of watching, behind the first moments */
export async function watch(page: Page, button: string, seconds: number): Promise<Watched> {
  await page.waitForSelector(button);
  return (await page.evaluate(`(${WATCH})(${JSON.stringify(button)}, ${seconds})`)) as Watched;
}
