import type { Browser } from 'playwright-core';
import { openBrowser } from '../../test/support/editor/browser';
import { inject } from '../../test/support/node-red/node-red';
import { isOnline, StationFlow } from '../../test/support/node-red/station-flow';
import type { Row, Scale } from '../measurement';
import { sideBySide, spreadOf } from '../side-by-side';
import { BY_HAND, liveFlow } from './live-flow';
import { watch, type Watched } from './watched-video';

interface Size {
  rounds: number;
  /** Of watching. */
  seconds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { rounds: 7, seconds: 10 },
  quick: { rounds: 1, seconds: 3 },
};

/**
 * V4: a live view in Chromium, by the page of _view link_ and by a page with an ffmpeg for each viewer, both of one Node-RED: from
 * the click to the first picture that moves, and how far it is behind what is live.
 */
export async function liveView(scale: Scale): Promise<Row[]> {
  const { rounds, seconds } = SIZES[scale];
  const flow = await StationFlow.start('5');
  const browser = await openBrowser();
  const seen: Record<'ours' | 'other', Watched[]> = { ours: [], other: [] };
  try {
    const camera = await flow.camera(isOnline);
    await flow.nodeRed.deploy(liveFlow(flow, camera.id));
    const view = await addressOfView(flow);
    const pages = { ours: { url: view, button: '.rvm-start' }, other: { url: BY_HAND, button: 'button' } };
    const firstPicture = async (side: 'ours' | 'other'): Promise<number> => {
      const { url, button } = pages[side];
      const watched = await watchedIn(browser, flow.nodeRed.url + url, button, seconds);
      seen[side].push(watched);
      return watched.firstMs;
    };
    const { ratio, ours, other } = await sideBySide(rounds, {
      ours: () => firstPicture('ours'),
      other: () => firstPicture('other'),
    });
    const against = 'a page with an ffmpeg copy for each viewer';
    const first: Row = {
      id: 'V4',
      measured: 'a live view in Chromium: from the click to the first picture that moves',
      against,
      figure: ratio,
      unit: 'x',
      target: { atMost: 0.7 },
      seen: { oursMs: ours.median, otherMs: other.median },
    };
    return [
      first,
      lag('playerLag', 'from the playhead to the end of what has come', seen),
      lag('trueLag', 'from the clock in the picture to that of the machine', seen),
    ];
  } finally {
    await browser.close();
    await flow.stop();
  }
}

async function addressOfView({ nodeRed }: StationFlow): Promise<string> {
  await inject(nodeRed, 'ask', {});
  return String((await nodeRed.message('link')).payload);
}

async function watchedIn(browser: Browser, url: string, button: string, seconds: number): Promise<Watched> {
  const page = await browser.newPage();
  try {
    await page.goto(url);
    return await watch(page, button, seconds);
  } finally {
    await page.close();
  }
}

function lag(kind: 'playerLag' | 'trueLag', words: string, seen: Record<'ours' | 'other', Watched[]>): Row {
  // The first round counts for nothing.
  const [ours, other] = [seen.ours, seen.other].map((all) => all.slice(1).map((watched) => watched[kind]));
  return {
    id: 'V4',
    measured: `a live view in Chromium: lag behind live, ${words}`,
    against: '-',
    figure: spreadOf(ours ?? []),
    unit: 's',
    target: { atMost: 0.5 },
    seen: { byFfmpegSeconds: spreadOf(other ?? []).median },
  };
}
