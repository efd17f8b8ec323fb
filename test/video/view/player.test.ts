import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { testBrowser, type TestBrowser } from '../../support/editor/browser';
import { Gate, eventually, PATIENCE } from '../../support/time/patience';
import { needs } from '../../support/suite/programs';
import { CountingSource, type SourceScript } from '../../support/video/made-stream';
import { AAC, BASELINE, encodedVideo, H265, type EncodedVideo } from '../../support/video/encoded-stream';
import { liveRight, rightFor, ServedView } from '../../support/video/served-view';

/** A JPEG, and a clip with fast start, made by ffmpeg. */
function made(...output: string[]): Buffer {
  const input = ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=10'];
  const run = spawnSync('ffmpeg', [...input, ...output, 'pipe:1'], { maxBuffer: 64 * 1024 * 1024 });
  assert.equal(run.status, 0, run.stderr.toString());
  return run.stdout;
}

describe('the player of a view', function () {
  let browser: TestBrowser;
  let short: EncodedVideo;
  let long: EncodedVideo;
  let h265: EncodedVideo;
  let view: ServedView;
  let source: CountingSource;
  let page: Page;
  /** What the page asked for elsewhere, and what the browser told of it. */
  let elsewhere: string[];
  let said: string[];

  before(async function () {
    needs(this, 'chromium', 'ffmpeg');
    short = encodedVideo({ encoder: BASELINE, seconds: 2 });
    const quickly = [...BASELINE, '-preset', 'ultrafast'];
    long = encodedVideo({ encoder: quickly, sound: AAC, seconds: 60, rate: 15 });
    h265 = encodedVideo({ encoder: H265, seconds: 1 });
    browser = await testBrowser();
  });

  after(() => browser?.close());

  afterEach(async () => {
    await page.close();
    await view.close();
  });

  async function serve(
    script: SourceScript,
    options: ConstructorParameters<typeof ServedView>[1] = {},
  ): Promise<void> {
    source = new CountingSource(script);
    view = await new ServedView(source, options).listen();
  }

  /** A page without what these browsers lack. */
  async function open(url: string, context: BrowserContextOptions = {}, script?: string): Promise<void> {
    page = await browser.newPage(context);
    page.setDefaultTimeout(PATIENCE);
    [elsewhere, said] = [[], []];
    page.on('request', (request) => {
      if (!request.url().startsWith(view.origin) && !request.url().startsWith('blob:'))
        elsewhere.push(request.url());
    });
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(error.message));
    if (script !== undefined) await page.addInitScript(script);
    await page.goto(url);
  }

  async function show(script: SourceScript, right = rightFor(), ...more: [BrowserContextOptions?, string?]) {
    await serve(script);
    await open(view.page(right), ...more);
  }

  /** *Play* or *pause* of the controls of the browser. */
  const press = (): Promise<void> => page.press('video:visible', 'Space');

  async function start(...asked: Parameters<typeof show>): Promise<void> {
    await show(...asked);
    await page.click('.rvm-start');
  }

  async function play(...asked: Parameters<typeof show>): Promise<void> {
    await start(...asked);
    await until(isPlaying);
  }

  /** Not by waitForFunction, which the policy of the page forbids. */
  const until = (condition: string): Promise<void> =>
    eventually(async () => (await page.evaluate(condition)) === true, condition);
  const shown = `[...document.querySelectorAll('video')].find((video) => !video.hidden)`;
  const isPlaying = `(() => { const video = ${shown}; return video !== undefined && video.currentTime > 0.2 && !video.paused; })()`;
  const closed = (): Promise<void> => eventually(() => source.openNow === 0, 'the stream to be closed');
  const words = (): Promise<string> => page.innerText('.rvm-words');

  /** Waits until the player says this. */
  async function tells(text: RegExp): Promise<void> {
    await eventually(async () => text.test(await words()), String(text));
  }

  it('asks for nothing before somebody presses play', async () => {
    await show({ video: short });
    await page.waitForSelector('.rvm-start');
    await page.waitForLoadState('networkidle');
    assert.deepEqual([source.opened, source.pictures, source.clips], [[], 0, 0]);
  });

  it('plays the recording with its sound, fetched once however often it is shown', async () => {
    await play({ video: short });
    const passes = `(() => { const video = ${shown}; window.passes ??= 0;
      if (video.currentTime < (window.last ?? 0)) window.passes += 1;
      window.last = video.currentTime; return window.passes >= 2; })()`;
    await until(passes);
    assert.deepEqual(source.opened, ['recorded']);
  });

  it('loads nothing from elsewhere, and does nothing that its policy forbids', async () => {
    await play({ video: long, paced: ['live'] });
    await page.click('.rvm-switch');
    await until(isPlaying);
    assert.deepEqual([elsewhere, said], [[], []]);
  });

  it('stays at most half a second behind what is live', async () => {
    await play({ video: long, paced: ['live'] }, liveRight());
    const lag = `(() => { const video = ${shown}; return video.buffered.end(video.buffered.length - 1) - video.currentTime; })()`;
    const lags: number[] = [];
    // A machine that is busy as it begins is caught up with unseen, a tenth of a second in each second.
    await eventually(async () => {
      lags.push(Number(await page.evaluate(lag)));
      const last = lags.slice(-20).sort((one, other) => one - other);
      return last.length === 20 && (last[10] ?? Infinity) <= 0.5;
    }, 'half of the last 20 looks to find it at most half a second behind');
  });

  it('jumps to the newest picture where it has fallen behind', async () => {
    await start({ video: long, paced: ['live'] }, liveRight());
    await until(
      `(() => { const video = ${shown}; return video.buffered.length > 0 && video.currentTime > 3; })()`,
    );
    await page.evaluate(`${shown}.currentTime -= 2.5`);
    await until(
      `(() => { const video = ${shown}; return !video.seeking && video.buffered.end(video.buffered.length - 1) - video.currentTime < 0.6; })()`,
    );
  });

  it('goes to live and back to the recording, which it has still', async () => {
    await play({ video: short, paced: ['live'] });
    await page.click('.rvm-switch');
    await until(`!document.querySelector('.rvm-live-mark').hidden`);
    await page.click('.rvm-switch');
    await until(isPlaying);
    assert.deepEqual(source.opened, ['recorded', 'live']);
    await closed();
  });

  it('offers live video only where the address allows it', async () => {
    await show({ video: short }, rightFor({ live: false }));
    await page.waitForSelector('.rvm-start');
    assert.equal(await page.isVisible('.rvm-switch'), false);
  });

  it('ends the stream when the page is left', async () => {
    await play({ video: long, paced: ['recorded'] });
    await page.goto('about:blank');
    await closed();
  });

  it('ends what is live when it is paused, and opens it anew', async () => {
    await play({ video: long, paced: ['live'] }, liveRight());
    await press();
    await closed();
    await press();
    await until(isPlaying);
    assert.deepEqual(source.opened, ['live', 'live']);
  });

  describe('with the keyboard', () => {
    it('plays and pauses', async () => {
      await show({ video: long });
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await until(isPlaying);
      await page.keyboard.press('Space');
      await until(`${shown}.paused`);
    });

    it('goes to live by a button that it reaches behind the controls, with a visible focus', async () => {
      await play({ video: long, paced: ['live'] });
      const focused = (): Promise<unknown> => page.evaluate('document.activeElement.className');
      while ((await focused()) !== 'rvm-switch') await page.keyboard.press('Tab');
      assert.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid');
      await page.keyboard.press('Enter');
      await until(`!document.querySelector('.rvm-live-mark').hidden`);
    });
  });

  it('tells a screen reader how to play, and which video it is, and has a region for what it says', async () => {
    await show({ video: short });
    const labels = await page.evaluate(
      `[...document.querySelectorAll('video')].map((each) => each.ariaLabel)`,
    );
    assert.deepEqual(labels, ['Video of the alarm', 'Live video']);
    assert.equal(await page.getByRole('status').count(), 1);
    for (const name of ['Play', 'Show live'])
      assert.equal(await page.getByRole('button', { name }).count(), 1, name);
  });

  describe('says in words', () => {
    it('that there is no recording yet, and tries again when asked to', async () => {
      const script: SourceScript = { video: short, failure: 'VIDEO_NOT_YET' };
      await start(script);
      await tells(/no recording of the alarm yet/);
      delete script.failure;
      await page.click('.rvm-start');
      await until(isPlaying);
    });

    it('that too many are watching', async () => {
      await serve({ video: long, paced: ['live', 'recorded'] }, { viewers: 1 });
      // Held: an answer that nobody refers to is collected, and its connection ends.
      const watching = await fetch(`${view.page()}/stream?part=live`);
      await open(view.page());
      await page.click('.rvm-start');
      await tells(/Too many people are watching/);
      await watching.body?.cancel();
    });

    it('that the video broke off', async () => {
      await play({ video: long, paced: ['recorded'] });
      source.streams[0]?.end(new Error('the relay broke off'));
      await tells(/broke off/);
    });

    it('that the address has expired meanwhile, without an offer to try again', async () => {
      await serve({ video: short });
      const right = rightFor({ expires: Date.now() + 1500 });
      await open(view.page(right));
      await eventually(() => Date.now() > right.expires, 'the address to expire');
      await page.click('.rvm-start');
      await tells(/This link has expired/);
      assert.equal(await page.isVisible('.rvm-start'), false);
      assert.deepEqual(source.opened, []);
    });

    it('that what was live has ended', async () => {
      await start({ video: short, paced: ['live'] }, liveRight());
      await tells(/has ended/);
    });

    it('that the server cannot be reached', async () => {
      await show({ video: short });
      await page.context().setOffline(true);
      await page.click('.rvm-start');
      await tells(/cannot be reached/);
    });

    it('that it is waiting for the recording, where that takes long', async () => {
      const late = new Gate();
      await show({ video: short, after: late.opened });
      await page.click('.rvm-start');
      await tells(/Opening the video/);
      await tells(/Waiting for the recording/);
      late.open();
      await until(isPlaying);
      assert.equal(await words(), '');
    });

    it('in the language of the reader', async () => {
      await start({ video: short, failure: 'VIDEO_BUSY' }, rightFor(), { locale: 'de-DE' });
      await tells(/Im Moment sind zu viele Videos offen/);
      assert.equal(await page.getAttribute('.rvm-start', 'aria-label'), 'Abspielen');
      assert.match(await page.innerText('dl'), /04\.03\.2026/);
    });
  });

  describe('in a browser that cannot play the video', () => {
    it('says so, and shows the picture', async () => {
      const picture = made('-frames:v', '1', '-f', 'mjpeg');
      await start({ video: h265, picture });
      await tells(/cannot play the video of this camera \(H\.265\)/);
      await until(`${shown}.poster.startsWith('blob:')`);
      await closed();
      assert.deepEqual([source.opened, source.pictures, said], [['recorded'], 1, []]);
    });

    for (const [what, script] of [
      ['cannot be made', { pictureFailure: 'DECODER_MISSING' }],
      ['is none', { picture: Buffer.from('no JPEG') }],
    ] as const) {
      it(`says no more than that where the picture ${what}`, async () => {
        await start({ video: h265, ...script });
        await tells(/cannot play the video/);
        await eventually(() => source.pictures === 1, 'the picture to be asked for');
        await page.waitForLoadState('networkidle');
        assert.match(await words(), /cannot play the video/);
        assert.equal(await page.getAttribute('video', 'poster'), null);
      });
    }

    it('says so where the video is damaged', async () => {
      const frames = short.frames.map((frame) => ({ ...frame, nals: [Buffer.alloc(500, 0x55)] }));
      const broken = { ...short, frames };
      await start({ video: broken });
      await tells(/could not play the video/);
    });

    it('plays the finished clip where it has no Media Source Extensions', async () => {
      const clip = made(...'-t 2 -pix_fmt yuv420p -movflags frag_keyframe+empty_moov -f mp4'.split(' '));
      await play({ clip }, rightFor(), {}, 'delete window.MediaSource; delete window.ManagedMediaSource;');
      assert.deepEqual([source.opened, source.clips], [[], 1]);
      assert.ok(view.requests.every((request) => !request.includes('stream')));
    });

    it('says why there is no clip where it has no Media Source Extensions', async () => {
      await start({ failure: 'VIDEO_NOT_YET' }, rightFor(), {}, 'delete window.MediaSource;');
      await tells(/no recording of the alarm yet/);
    });

    it('plays through a managed source, where there is no other', async () => {
      const managed = 'window.ManagedMediaSource = window.MediaSource; delete window.MediaSource;';
      await play({ video: short }, rightFor(), {}, managed);
      assert.equal(await page.evaluate(`${shown}.disableRemotePlayback`), true);
    });
  });

  for (const [width, height] of [
    [1366, 768],
    [390, 844],
  ] as const)
    for (const colorScheme of ['light', 'dark'] as const)
      it(`is whole, and can be read, at ${width}x${height} in the ${colorScheme} theme`, async () => {
        const facts = { ...rightFor().facts, sandbox: true, site: 'A very long name of a harbour depot' };
        await play({ video: long }, rightFor({ facts }), { viewport: { width, height }, colorScheme });
        const sizes =
          await page.evaluate(`[document.documentElement.scrollWidth, document.querySelector('.rvm-below').getBoundingClientRect().bottom,
          getComputedStyle(document.body).backgroundColor]`);
        assert.ok(Array.isArray(sizes));
        assert.ok(Number(sizes[0]) <= width && Number(sizes[1]) <= height, String(sizes));
        assert.equal(sizes[2], colorScheme === 'light' ? 'rgb(242, 244, 247)' : 'rgb(16, 19, 23)');
      });
});
