import assert from 'node:assert/strict';
import type { Locator, Request } from 'playwright-core';
import { loadEditor, speak } from '../support/editor/browser';
import { describeInEditor, type InEditor, withSandbox } from '../support/editor/in-editor';
import { alarm, opened, send } from '../support/editor/sidebar';
import { PATH, webhookIn } from '../support/node-red/flows';
import { isOnline } from '../support/node-red/station-flow';
import { eventually } from '../support/time/patience';

/** Milliseconds: all of the recording of such an event is there. */
const AN_HOUR = 3_600_000;
const EVENTS = '.rvm-events .rvm-opener';
/** Where video is: that of a camera in a panel beside the sidebar, that of an event in its row. */
const SHOWN = ':is(.rvm-video, .rvm-opened)';

const service = withSandbox({ seed: 7 }, webhookIn());
const withVideo: InEditor = { ...service, programs: ['ffmpeg'] };

/** An event of the camera of that place, of those that are on line. */
async function factsOf(place: 0 | 1) {
  const camera = (await service.cameras()).filter(isOnline)[place] ?? assert.fail();
  const { id: cameraId, remoteId: cameraRemoteId, name: cameraName } = camera;
  const eventStartTime = new Date(Date.now() - AN_HOUR).toISOString().slice(0, -1);
  return { cameraId, cameraRemoteId, cameraName, eventStartTime };
}

describeInEditor('the video of the sidebar', withVideo, (editor) => {
  before(async () => {
    for (const place of [1, 0] as const) await alarm(editor, PATH, await factsOf(place));
    await editor.page.setViewportSize({ width: 1366, height: 768 });
    await show();
  });
  afterEach(async () => {
    await editor.page.locator('.rvm-sidebar').press('Escape');
    await editor.page.waitForSelector(SHOWN, { state: 'detached' });
    await sessionsAre(0);
  });

  const event = (): Locator => editor.page.locator(EVENTS).first();
  const cameras = (status: 'online' | 'offline'): Locator =>
    editor.page.locator('.rvm-camera', { hasText: status });
  const openEvent = async (place: 0 | 1) => opened(editor, (await factsOf(place)).cameraName);

  async function show(): Promise<void> {
    await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
    await editor.page.locator(EVENTS).nth(1).waitFor();
  }

  const sessionsAre = (count: number): Promise<void> =>
    eventually(async () => (await service.video()).sessions === count, `${count} RTSP sessions`);

  async function moves(name: 'recorded' | 'live'): Promise<void> {
    const shown = `[...document.querySelectorAll('${SHOWN} video')].find((video) => !video.hidden)`;
    const isLive = `document.querySelector('${SHOWN} .rvm-live-mark').hidden === ${name === 'recorded'}`;
    for (const seconds of [0.1, 0.6])
      await editor.page.waitForFunction(
        `${isLive} && ${shown}?.currentTime > ${seconds} && ${shown}.videoWidth > 0`,
      );
  }

  async function openCameras(): Promise<void> {
    const details = editor.page.locator('.rvm-stations details');
    if ((await details.getAttribute('open')) === null) await editor.page.click('.rvm-stations summary');
    await editor.page.locator('.rvm-camera').nth(20).waitFor();
  }

  const focused = (): Promise<string> =>
    editor.page.evaluate(`document.activeElement.closest('[class]').className`);

  it('shows the picture of the alarm, as wide as the sidebar, and from then on beside the event alone', async () => {
    const { all } = await openEvent(0);
    await editor.page.waitForFunction(`$('.rvm-alarm-picture img')[0]?.naturalWidth > 100`);
    const picture = all.locator('.rvm-alarm-picture img');
    const [image, place] = await Promise.all([picture.boundingBox(), all.boundingBox()]);
    assert.ok(image !== null && place !== null && image.width > place.width - 30);
    assert.match((await picture.getAttribute('alt')) ?? '', /^Picture of the alarm: /);
    await editor.page.waitForFunction(`$('.rvm-events .rvm-thumbnail')[0]?.naturalWidth > 100`);
    assert.equal(await editor.page.locator('.rvm-events .rvm-thumbnail').count(), 1);
  });

  it('shows what the camera sees now, and the alarm again', async () => {
    await event().click();
    await moves('recorded');
    for (const name of ['live', 'recorded'] as const) {
      await editor.page.click('.rvm-opened .rvm-switch');
      await moves(name);
    }
  });

  it('fits a sidebar of 320 pixels, with all that is told of the event', async () => {
    const { all } = await openEvent(0);
    await moves('recorded');
    await all.getByText('stored in the inbox').waitFor();
    assert.equal(await editor.isCutAt(320), false);
  });

  it('plays a camera that is clicked live, whole on a screen of 1366 by 768', async () => {
    await openCameras();
    await cameras('online').first().click();
    await moves('live');
    const box = await editor.page.locator('.rvm-video').boundingBox();
    assert.ok(box !== null && box.x >= 0 && box.y >= 0 && box.width > 700);
    assert.ok(box.x + box.width <= 1366 && box.y + box.height <= 768);
  });

  it('says of a camera that is off line that it is', async () => {
    await openCameras();
    await cameras('offline').first().click();
    await editor.page.locator('.rvm-words', { hasText: 'The camera is offline.' }).waitFor();
    // The browser tells of each answer that is an error.
    assert.match(editor.errors.splice(0).join(), /502/);
  });

  it('asks by ids alone, and with nothing of a user in the address', async () => {
    const asked: URL[] = [];
    const note = (request: Request): void => {
      if (request.url().includes('/rvm/video/')) asked.push(new URL(request.url()));
    };
    editor.page.on('request', note);
    await event().click();
    await moves('recorded');
    editor.page.off('request', note);
    const names = asked.map(({ searchParams }) => [...searchParams.keys()].sort().join());
    assert.deepEqual([...new Set(names)].sort(), ['delivery', 'delivery,part']);
  });

  it('opens a camera by Enter and closes by Escape, which ends the RTSP session and leaves the focus where it was', async () => {
    await openCameras();
    const row = cameras('online').first();
    await row.focus();
    await editor.page.keyboard.press('Enter');
    await moves('live');
    assert.equal(await editor.page.evaluate('document.activeElement.tagName'), 'VIDEO');
    assert.equal(await row.getAttribute('aria-expanded'), 'true');
    await editor.page.keyboard.press('Escape');
    await sessionsAre(0);
    assert.equal(await row.getAttribute('aria-expanded'), 'false');
    assert.equal(await row.evaluate((element) => element === document.activeElement), true);
  });

  it('halts by space where the focus is on the video', async () => {
    await event().click();
    await moves('recorded');
    await editor.page.locator('.rvm-opened video').first().focus();
    await editor.page.keyboard.press('Space');
    await editor.page.waitForFunction(`document.querySelector('.rvm-opened video').paused`);
  });

  it('ends the RTSP session of a camera when another is clicked, and all when it is closed', async () => {
    const before = (await service.video()).opened;
    await openCameras();
    for (const place of [0, 1]) {
      await cameras('online').nth(place).click();
      await moves('live');
    }
    await sessionsAre(1);
    assert.equal((await service.video()).opened, before + 2);
    assert.equal(await editor.page.locator('.rvm-video').count(), 1);
    await editor.page.click('.rvm-video-close');
    await sessionsAre(0);
  });

  it('ends the RTSP session of an event when another is opened', async () => {
    for (const place of [0, 1] as const) {
      await openEvent(place);
      await moves('recorded');
    }
    await sessionsAre(1);
  });

  it('closes by another click on its row', async () => {
    await event().click();
    await editor.page.waitForSelector('.rvm-opened');
    await event().click();
    await editor.page.waitForSelector('.rvm-opened', { state: 'detached' });
  });

  it('gives way to the dialog of a node', async () => {
    await openCameras();
    await cameras('online').first().click();
    await editor.page.waitForSelector('.rvm-video');
    await editor.page.evaluate(`RED.editor.edit(RED.nodes.node('webhook'))`);
    await editor.page.waitForSelector('.rvm-video', { state: 'detached' });
    await sessionsAre(0);
  });

  it('ends when the editor is closed', async () => {
    await openCameras();
    await cameras('online').first().click();
    await moves('live');
    await editor.page.goto('about:blank');
    await sessionsAre(0);
    await loadEditor(editor.page, editor.nodeRed);
    await show();
  });

  it('goes on, with the focus where it is, while further events come', async () => {
    const { all } = await openEvent(0);
    await moves('recorded');
    const before = (await service.video()).opened;
    await all.locator('.rvm-switch').focus();
    await send(editor, PATH, { cameraName: 'One more' });
    await editor.page.locator('.rvm-new', { hasText: '1' }).waitFor();
    assert.match(await focused(), /rvm-switch/);
    await moves('recorded');
    assert.equal((await service.video()).opened, before);
  });

  it('speaks the language of the browser', async () => {
    await speak(editor.page, 'de-DE');
    await loadEditor(editor.page, editor.nodeRed);
    await show();
    const { all } = await openEvent(0);
    await all.getByText('Live ansehen', { exact: true }).waitFor();
    await all.getByRole('button', { name: 'Kopieren: Alarm-ID' }).waitFor();
    const html = await all.innerHTML();
    assert.doesNotMatch(html, /view\.|shared\.|rvm-sidebar\./, 'a text is missing from the catalogue');
  });
});

const asOperator: InEditor = { ...withVideo, programs: [], secured: true, user: 'operator' };

describeInEditor('the video of the sidebar, with users', asOperator, (editor) => {
  it('plays for a user who may look but not deploy, whose login goes with what is fetched', async () => {
    await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
    await alarm(editor, PATH, await factsOf(0));
    await editor.page.locator(EVENTS).first().click();
    await editor.page.waitForFunction(`document.querySelector('.rvm-opened video')?.currentTime > 0.5`);
    await editor.page.keyboard.press('Escape');
  });
});
