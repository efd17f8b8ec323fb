import assert from 'node:assert/strict';
import type { Page, Request } from 'playwright-core';
import { loadEditor, speak } from '../support/editor/browser';
import { describeInEditor, type InEditor } from '../support/editor/in-editor';
import { VideoService } from '../support/editor/sidebar';
import { PATH, PHRASE } from '../support/node-red/flows';
import { eventually } from '../support/time/patience';
import { alarmMessage, post } from '../support/webhook/alarm-message';

/** Milliseconds: all of the recording of such an event is there. */
const AN_HOUR = 3_600_000;
const EVENTS = '.rvm-events .rvm-opener';
/** Where video is: that of a camera in a panel beside the sidebar, that of an event in its row. */
const SHOWN = ':is(.rvm-video, .rvm-opened)';

let service: VideoService;

async function flow() {
  service = await VideoService.start();
  return service.flow;
}

const withVideo: InEditor = { flow, programs: ['ffmpeg'], end: () => service.sandbox.close() };

describeInEditor('the video of the sidebar', withVideo, (editor) => {
  before(async () => {
    for (const camera of [...service.online].reverse()) await alarm(camera);
    await editor.page.setViewportSize({ width: 1366, height: 768 });
    await show(editor.page);
  });
  afterEach(async () => {
    await editor.page.locator('.rvm-sidebar').press('Escape');
    await editor.page.waitForSelector(SHOWN, { state: 'detached' });
    await noSession();
  });

  /** An event of a camera, which shows as the first. */
  async function alarm({
    id,
    remoteId,
    name,
  }: {
    id: string;
    remoteId: string;
    name: string;
  }): Promise<void> {
    const eventStartTime = new Date(Date.now() - AN_HOUR).toISOString().slice(0, -1);
    const message = alarmMessage({
      cameraId: id,
      cameraRemoteId: remoteId,
      cameraName: name,
      eventStartTime,
    });
    assert.equal((await post(`${editor.nodeRed.url}${PATH}`, message, PHRASE)).status, 200);
  }

  async function show(page: Page): Promise<void> {
    await page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
    await page.locator(EVENTS).nth(1).waitFor();
  }

  const noSession = (): Promise<void> =>
    eventually(async () => (await service.video()).sessions === 0, 'the end of the RTSP session');

  /** @param name `recorded` or `live` */
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

  it('shows the picture of the alarm, and from then on beside the event alone', async () => {
    await editor.page.locator(EVENTS).first().click();
    await editor.page.waitForFunction(`$('.rvm-alarm-picture img')[0]?.naturalWidth > 100`);
    await editor.page.waitForFunction(`$('.rvm-events .rvm-thumbnail')[0]?.naturalWidth > 100`);
    assert.equal(await editor.page.locator('.rvm-events .rvm-thumbnail').count(), 1);
  });

  it('shows what the camera sees now, and the alarm again', async () => {
    await editor.page.locator(EVENTS).first().click();
    await moves('recorded');
    await editor.page.click('.rvm-opened .rvm-switch');
    await moves('live');
    await editor.page.click('.rvm-opened .rvm-switch');
    await moves('recorded');
  });

  it('plays a camera that is clicked live, whole on a screen of 1366 by 768', async () => {
    await openCameras();
    await editor.page.locator('.rvm-camera', { hasText: 'online' }).first().click();
    await moves('live');
    const box = await editor.page.locator('.rvm-video').boundingBox();
    assert.ok(box !== null && box.x >= 0 && box.y >= 0 && box.width > 700);
    assert.ok(box.x + box.width <= 1366 && box.y + box.height <= 768);
  });

  it('says of a camera that is off line that it is', async () => {
    await openCameras();
    await editor.page.locator('.rvm-camera', { hasText: 'offline' }).first().click();
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
    await editor.page.locator(EVENTS).first().click();
    await moves('recorded');
    editor.page.off('request', note);
    const names = asked.map(({ searchParams }) => [...searchParams.keys()].sort().join());
    assert.deepEqual([...new Set(names)].sort(), ['delivery', 'delivery,part']);
  });

  it('opens a camera by Enter and closes by Escape, which ends the RTSP session and leaves the focus where it was', async () => {
    await openCameras();
    const row = editor.page.locator('.rvm-camera', { hasText: 'online' }).first();
    await row.focus();
    await editor.page.keyboard.press('Enter');
    await moves('live');
    assert.match(await focused(), /rvm-player/);
    assert.equal(await row.getAttribute('aria-expanded'), 'true');
    await editor.page.keyboard.press('Escape');
    await noSession();
    assert.equal(await row.getAttribute('aria-expanded'), 'false');
    assert.equal(await row.evaluate((element) => element === document.activeElement), true);
  });

  it('halts by space and goes live by L where the focus is in the player', async () => {
    await editor.page.locator(EVENTS).first().click();
    await moves('recorded');
    await editor.page.locator('.rvm-opened .rvm-player').focus();
    await editor.page.keyboard.press('Space');
    await editor.page.waitForFunction(`document.querySelector('.rvm-opened video').paused`);
    await editor.page.keyboard.press('l');
    await moves('live');
  });

  it('ends the RTSP session of a row when another is clicked, and all when it is closed', async () => {
    const { opened } = await service.video();
    await openCameras();
    const cameras = editor.page.locator('.rvm-camera', { hasText: 'online' });
    await cameras.nth(0).click();
    await moves('live');
    await cameras.nth(1).click();
    await moves('live');
    await eventually(async () => (await service.video()).sessions === 1, 'the end of the first session');
    assert.equal((await service.video()).opened, opened + 2);
    assert.equal(await editor.page.locator('.rvm-video').count(), 1);
    await editor.page.click('.rvm-video-close');
    await noSession();
  });

  it('closes by another click on its row', async () => {
    await editor.page.locator(EVENTS).first().click();
    await editor.page.waitForSelector('.rvm-opened');
    await editor.page.locator(EVENTS).first().click();
    await editor.page.waitForSelector('.rvm-opened', { state: 'detached' });
  });

  it('gives way to the dialog of a node', async () => {
    await openCameras();
    await editor.page.locator('.rvm-camera', { hasText: 'online' }).first().click();
    await editor.page.waitForSelector('.rvm-video');
    await editor.page.evaluate(`RED.editor.edit(RED.nodes.node('webhook'))`);
    await editor.page.waitForSelector('.rvm-video', { state: 'detached' });
    await noSession();
  });

  it('ends when the editor is closed', async () => {
    await openCameras();
    await editor.page.locator('.rvm-camera', { hasText: 'online' }).first().click();
    await moves('live');
    await editor.page.goto('about:blank');
    await noSession();
    await loadEditor(editor.page, editor.nodeRed);
    await show(editor.page);
  });

  it('speaks the language of the browser', async () => {
    await speak(editor.page, 'de-DE');
    await loadEditor(editor.page, editor.nodeRed);
    await show(editor.page);
    await editor.page.locator(EVENTS).first().click();
    const opened = editor.page.locator('.rvm-opened');
    await opened.getByText('Live ansehen', { exact: true }).waitFor();
    await opened.getByRole('button', { name: 'Kopieren: Alarm-ID' }).waitFor();
    const html = await opened.innerHTML();
    assert.doesNotMatch(html, /view\.|shared\.|rvm-sidebar\./, 'a text is missing from the catalogue');
  });
});

describeInEditor(
  'the video of the sidebar, with users',
  { flow, end: () => service.sandbox.close(), secured: true, user: 'operator' },
  (editor) => {
    it('plays for a user who may look but not deploy, whose login goes with what is fetched', async () => {
      const [camera] = service.online;
      const message = alarmMessage({
        cameraId: camera.id,
        cameraRemoteId: camera.remoteId,
        eventStartTime: new Date(Date.now() - AN_HOUR).toISOString().slice(0, -1),
      });
      assert.equal((await post(`${editor.nodeRed.url}${PATH}`, message, PHRASE)).status, 200);
      await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
      await editor.page.locator(EVENTS).first().click();
      await editor.page.waitForFunction(`document.querySelector('.rvm-opened video')?.currentTime > 0.5`);
      await editor.page.keyboard.press('Escape');
    });
  },
);
